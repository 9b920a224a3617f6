import { defined } from "@local-serving/base/faults/defined";
import * as z from "zod";
import type { KeyNotes } from "./key";

type Keyword =
  | (
      | "$schema"
      | "$ref"
      | "title"
      | "description"
      | "type"
      | "const"
      | "enum"
      | "default"
      | "examples"
      | "required"
    )
  | ("minItems" | "minimum" | "maximum" | "minLength" | "maxLength" | "pattern" | "format");

/** A JSON Schema of what a person writes, with our notes still on its keys. */
export interface JsonSchema extends Pick<z.core.JSONSchema.BaseSchema, Keyword>, KeyNotes {
  properties?: Record<string, JsonSchema>;
  additionalProperties?: boolean | JsonSchema;
  propertyNames?: JsonSchema;
  /** One schema for every item, or one for each place of a list of fixed length. */
  items?: JsonSchema | JsonSchema[];
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  definitions?: Record<string, JsonSchema>;
}

/** The JSON Schema of a zod schema's input, draft 7, the draft that most editors read. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const made = z.toJSONSchema(schema, { io: "input", target: "draft-7", unrepresentable: "any" });
  // The shapes are the same; zod's own type lists every keyword of every draft.
  return tidy(made as JsonSchema);
}

/**
 * Removes what adds nothing: the bounds of safe integers, the type of JSON keys, `{}` as a block's
 * default.
 */
function tidy(node: JsonSchema): JsonSchema {
  const result = mapChildren(node, tidy);
  if (result.minimum === Number.MIN_SAFE_INTEGER) delete result.minimum;
  if (result.maximum === Number.MAX_SAFE_INTEGER) delete result.maximum;
  if (JSON.stringify(result.propertyNames) === '{"type":"string"}') delete result.propertyNames;
  const holdsKeys = result.properties !== undefined || result.additionalProperties !== undefined;
  if (holdsKeys && JSON.stringify(result.default) === "{}") delete result.default;
  return result;
}

/** What is published for editors: notes become words, and our own keywords go. */
export function publishedSchema(node: JsonSchema, prefix: string): JsonSchema {
  const result = mapChildren(node, (child) => publishedSchema(child, prefix));
  const unit = node.unit && `Unit: ${node.unit}.`;
  const variable = node.variable && `Environment variable: ${prefix}${node.variable}.`;
  const words = [node.description, unit, variable].filter((text) => text !== undefined);
  if (words.length > 0) result.description = words.join(" ");
  for (const note of KEY_NOTES) delete result[note];
  return result;
}

/**
 * Lets keys through that the schema does not know, for documents in which they are only worth a
 * warning.
 */
export function openSchema(node: JsonSchema): JsonSchema {
  const result = mapChildren(node, openSchema);
  if (result.additionalProperties === false) delete result.additionalProperties;
  return result;
}

function mapChildren(node: JsonSchema, change: (child: JsonSchema) => JsonSchema): JsonSchema {
  const result: JsonSchema = { ...node };
  for (const part of ["properties", "definitions"] as const) {
    const children = Object.entries(node[part] ?? {});
    if (children.length > 0)
      result[part] = Object.fromEntries(children.map(([key, child]) => [key, change(child)]));
  }
  if (typeof node.additionalProperties === "object")
    result.additionalProperties = change(node.additionalProperties);
  if (node.items !== undefined)
    result.items = Array.isArray(node.items) ? node.items.map(change) : change(node.items);
  if (node.propertyNames !== undefined) result.propertyNames = change(node.propertyNames);
  for (const part of ["anyOf", "oneOf", "allOf"] as const) {
    const children = node[part];
    if (children !== undefined) result[part] = children.map(change);
  }
  return result;
}

/**
 * The names of the notes, which no published JSON Schema may hold since validators refuse unknown
 * keywords.
 */
const KEY_NOTES = ["unit", "variable", "secret", "ours", "placeholder"] as const;

export interface SchemaKey {
  /** The parts of the key's path; a map's free key is written `<name>`. */
  readonly path: readonly string[];
  readonly schema: JsonSchema;
  readonly required: boolean;
  /** The key holds further keys, which follow it in the list. */
  readonly block: boolean;
}

/** Every key of a schema in the order in which it is written, blocks before what is in them. */
export function schemaKeys(root: JsonSchema): SchemaKey[] {
  const keys = new Map<string, SchemaKey>();
  collect(root, [], keys);
  return [...keys.values()];
}

function collect(node: JsonSchema, path: readonly string[], keys: Map<string, SchemaKey>): void {
  for (const form of formsOf(node)) collect(form, path, keys);
  for (const [name, child] of Object.entries(node.properties ?? {}))
    add(child, [...path, name], node.required?.includes(name) ?? false, keys);
  if (
    typeof node.additionalProperties === "object" &&
    Object.keys(node.additionalProperties).length > 0
  )
    add(node.additionalProperties, [...path, `<${node.placeholder ?? "name"}>`], false, keys);
  for (const item of [node.items ?? []].flat())
    collect(item, [...path.slice(0, -1), `${path.at(-1) ?? ""}[]`], keys);
}

function add(
  schema: JsonSchema,
  path: readonly string[],
  required: boolean,
  keys: Map<string, SchemaKey>,
): void {
  const name = path.join(".");
  const known = keys.get(name);
  const key = { path, schema, required, block: isBlock(schema) };
  keys.set(name, known === undefined ? key : { ...known, schema: joined(known.schema, schema) });
  collect(schema, path, keys);
}

/**
 * Options of a union may share a key: it takes what any of them takes, and is described as in the
 * first.
 */
function joined(first: JsonSchema, second: JsonSchema): JsonSchema {
  const { description, default: fallback, examples, ...form } = first;
  const { description: _, default: __, examples: ___, ...other } = second;
  const forms = form.anyOf ?? [form];
  if (forms.some((each) => JSON.stringify(each) === JSON.stringify(other))) return first;
  return { ...defined({ description, default: fallback, examples }), anyOf: [...forms, other] };
}

function isBlock(node: JsonSchema): boolean {
  if (node.properties !== undefined) return true;
  if (
    typeof node.additionalProperties === "object" &&
    Object.keys(node.additionalProperties).length > 0
  )
    return true;
  return formsOf(node).some(isBlock);
}

const formsOf = ({ anyOf = [], oneOf = [], allOf = [] }: JsonSchema) => [
  ...anyOf,
  ...oneOf,
  ...allOf,
];

/** Returns a key's own description, else the first description of one of its forms. */
export function descriptionOf(node: JsonSchema): string {
  if (node.description !== undefined) return node.description;
  return (
    [...(node.anyOf ?? []), ...(node.oneOf ?? [])].map(descriptionOf).find((text) => text !== "") ??
    ""
  );
}
