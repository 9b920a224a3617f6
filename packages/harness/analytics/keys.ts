import { jsonIn } from "@local-serving/base/faults/json";
import { readBy, schemasAt } from "@local-serving/base/faults/schemaFaults";
import { secretPaths } from "@local-serving/base/faults/secrets";
import { type JsonSchema, jsonSchemaOf, schemaKeys } from "../schema/jsonSchema";
import { analyticsSchema } from "./schema";

/** What a key holds, which says how text becomes its value. */
export type Kind = "text" | "number" | "number-or-empty" | "list" | "records";

/** One key of the session-analytics config; in maps with free ids it means all of them. */
interface AnalyticsKey {
  /** The parts of its path; a free id is written `<name>`. */
  readonly pattern: readonly string[];
  readonly kind: Kind;
  /** Variable without the harness's prefix; `undefined` where the key is set in the file only. */
  readonly variable: string | undefined;
  readonly secret: boolean;
}

/** A key with its free id filled in. */
export interface ConcreteKey extends AnalyticsKey {
  readonly path: readonly string[];
  /** The path in one piece, as commands and messages show it. */
  readonly name: string;
}

/** Keys for people and editors, which set nothing. */
const REMARKS = new Set(["$schema", "_comment"]);

let known: AnalyticsKey[] | undefined;

/** Every key that holds a value, in the order of the schema. */
export function analyticsKeys(): readonly AnalyticsKey[] {
  known ??= schemaKeys(jsonSchemaOf(analyticsSchema()))
    .filter(
      ({ path, block }) =>
        !block && !REMARKS.has(path[0] ?? "") && !path.some((part) => part.endsWith("[]")),
    )
    .map(({ path, schema }) => ({
      pattern: path,
      kind: kindOf(schema),
      variable: schema.variable,
      secret: schema.secret === true,
    }));
  return known;
}

let lookup: Map<string, AnalyticsKey> | undefined;

/**
 * The key of a dotted name; ids with dots in them are understood (`pricing.models.gpt-4.1.input`).
 */
export function findKey(name: string): ConcreteKey | undefined {
  lookup ??= new Map(analyticsKeys().map((key) => [key.pattern.join("."), key]));
  const fixed = lookup.get(name);
  if (fixed !== undefined && !fixed.pattern.some(isFree)) return concrete(fixed);
  for (const [pattern, key] of lookup) {
    // Without a free id the name would have been found; with one there are the texts before and
    // behind it.
    const [before = "", after] = pattern.split(/<[^>]*>/);
    if (after === undefined || name.length <= before.length + after.length) continue;
    const id = name.slice(before.length, name.length - after.length);
    if (name.startsWith(before) && name.endsWith(after) && id !== "__proto__")
      return concrete(key, id);
  }
  return undefined;
}

/** The key with its free id filled in; an id of a tool has a variable of its own. */
export function concrete(key: AnalyticsKey, id = ""): ConcreteKey {
  const path = key.pattern.map((part) => (isFree(part) ? id : part));
  return {
    ...key,
    path,
    name: path.join("."),
    variable:
      key.pattern[0] === "sources"
        ? `${SOURCE_VARIABLE}${id.toUpperCase().replace(/[^A-Z0-9]/g, "_")}`
        : key.variable,
  };
}

/** What the variables of tools' session folders begin with, behind the harness's prefix. */
export const SOURCE_VARIABLE = "SA_SOURCE_";

/** Whether a part of a pattern is a free id. */
export const isFree = (part: string): boolean => part.startsWith("<");

function kindOf(schema: JsonSchema): Kind {
  if (schema.anyOf?.some(({ type }) => type === "number") === true) return "number-or-empty";
  if (schema.type === "integer" || schema.type === "number") return "number";
  if (schema.type === "array")
    return !Array.isArray(schema.items) && schema.items?.type === "string" ? "list" : "records";
  return "text";
}

/** Shown instead of a secret that is set. */
const HIDDEN = "<set>";

/** A value as it may be shown: a secret, or an address with a password in it, only as set. */
export function shown(name: string, value: unknown): unknown {
  if (value === "" || value === undefined) return value;
  const secret = findKey(name)?.secret === true;
  return secret || secretPaths({ [name]: value }).length > 0 ? HIDDEN : value;
}

/** What to do with a secret instead of writing it down. */
export function secretRemedy(key: ConcreteKey | undefined, prefix: string): string {
  return key?.variable === undefined
    ? "A password never goes here: keep it out of the value."
    : `A secret is set in the environment only, by the variable ${prefix}${key.variable}.`;
}

/** The value of a text, or why it has none, in a sentence that doesn't repeat the text. */
type FromText = { readonly value: unknown } | { readonly wrong: string };

/** Text that is a number from its first to its last character. */
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/**
 * The value of a key that comes as text, from a variable or an argument. Lists are separated by
 * commas, or one JSON array. A numeric key takes text that is wholly a number.
 */
export function valueFromText(key: ConcreteKey, text: string): FromText {
  const read = parse(key.kind, text);
  if ("wrong" in read) return read;
  const [schema] = schemasAt(analyticsSchema(), key.path);
  const [fault] = schema === undefined ? [] : readBy(schema, read.value).faults;
  return fault === undefined ? read : { wrong: fault.message };
}

function parse(kind: Kind, text: string): FromText {
  switch (kind) {
    case "text":
      return { value: text };
    case "number":
    case "number-or-empty":
      if (kind === "number-or-empty" && text === "") return { value: "" };
      return NUMBER.test(text.trim()) && Number.isFinite(Number(text))
        ? { value: Number(text) }
        : { wrong: "The text is not a number." };
    case "list":
      if (text.trimStart().startsWith("[")) return jsonList(text);
      return { value: text.split(",").flatMap((item) => item.trim() || []) };
    case "records":
      return jsonList(text);
  }
}

function jsonList(text: string): FromText {
  const value = jsonIn(text);
  const wrong = "Expected a list: a JSON array, or comma-separated texts if the key holds texts.";
  return Array.isArray(value) ? { value } : { wrong };
}
