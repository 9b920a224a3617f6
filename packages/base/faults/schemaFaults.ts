import * as z from "zod";
import { type NumberKey, shareOf, unitKey } from "./amounts";
import { defined } from "./defined";
import { dotted, errorAt, type Fault, FaultyInput } from "./fault";
import { issueText } from "./issueText";
import { listOf, nearestKey, nearOf } from "./quoting";
import {
  isMixed,
  isSecretName,
  KEY_AS_NAME,
  looksLikeAKey,
  REDACTED,
  secretPaths,
  withoutKeys,
} from "./secrets";
import type { SourceDocument } from "./yamlDocument";

type Issue = z.core.$ZodIssue;

/** What to write in the usual cases for a key that is required and missing, as a sentence. */
export const whenMissing = z.registry<{ readonly advice: string }>();

/**
 * Turns every complaint of a zod schema about a value into a fault: one for each unknown key (with
 * the nearest known one), each wrong type and each impossible value, with the place in the file
 * where a document is given.
 */
export const schemaFaults = (
  schema: z.ZodType,
  value: unknown,
  issues: readonly Issue[],
  document?: SourceDocument,
): Fault[] => issues.flatMap((issue) => faultsOf(schema, value, issue, document)).map(faultOf);

/**
 * The same, with one fault for a mistyped key: a required key isn't missing where an unknown key of
 * its block was most likely meant to be it. The unknown key's own fault always stays.
 */
export function faultsOnce(
  schema: z.ZodType,
  value: unknown,
  issues: readonly Issue[],
  document?: SourceDocument,
): Fault[] {
  const found = issues.flatMap((issue) => faultsOf(schema, value, issue, document));
  const meant = new Set(found.flatMap((each) => each.meant ?? []));
  return found.map(faultOf).filter(({ code, path }) => code !== "missing_key" || !meant.has(path));
}

/** A fault, and the path of the key that an unknown one was most likely meant to be. */
interface FoundFault {
  readonly fault: Fault;
  readonly meant?: string;
}

const faultOf = ({ fault }: FoundFault): Fault => fault;

/**
 * Softens a fault of a file that may have foreign keys: an unknown key is a warning, unless it
 * could only be a secret.
 */
export function softened(fault: Fault, refusal: (key: string) => string): Fault {
  if (fault.code !== "unknown_key") return fault;
  const key = fault.path.split(".").at(-1) ?? "";
  if (!isSecretName(key)) return { ...fault, severity: "warning" };
  return { ...fault, code: "secret_in_file", message: refusal(key) };
}

/** Reads a value by a schema: the data, or every fault that the schema finds. */
export function readBy<Value>(
  schema: z.ZodType<Value>,
  value: unknown,
  document?: SourceDocument,
):
  | { readonly data: Value; readonly faults: readonly [] }
  | { readonly data?: undefined; readonly faults: Fault[] } {
  const { success, data, error } = schema.safeParse(value);
  return success
    ? { data, faults: [] }
    : { faults: schemaFaults(schema, value, error.issues, document) };
}

/** The value of a document by its schema. Throws `FaultyInput` with every fault. */
export function valueBy<Value>(
  schema: z.ZodType<Value>,
  file: string,
  document: SourceDocument,
): Value {
  const { data, faults } = readBy(schema, document.value, document);
  if (data === undefined) throw new FaultyInput(file, faults);
  return data;
}

function faultsOf(
  schema: z.ZodType,
  value: unknown,
  issue: Issue,
  document?: SourceDocument,
): FoundFault[] {
  if (issue.code === "unrecognized_keys") return unknownKeys(schema, issue, document);
  // The option that failed deepest is the one the writer meant: its faults say more than "no option
  // matches".
  const options = issue.code === "invalid_union" ? issue.errors : [];
  const deepest = options.reduce((a, b) => (depth(b) > depth(a) ? b : a), []);
  if (depth(deepest) > 0)
    return deepest.flatMap((inner) =>
      faultsOf(schema, value, { ...inner, path: [...issue.path, ...inner.path] }, document),
    );
  const name = issue.code === "invalid_key" ? String(issue.path.at(-1)) : "";
  if (looksLikeAKey(name)) return [{ fault: keyAsName(issue, document) }];
  const given = valueAt(value, issue.path);
  const [judge] = schemasAt(schema, issue.path);
  const advice = given === undefined && judge ? whenMissing.get(judge)?.advice : undefined;
  const text = issueText(given, issue, numberKey(value, issue.path, judge));
  const described = describe(judge);
  const message =
    advice !== undefined
      ? `This key is required. ${advice}`
      : described === undefined
        ? text
        : `${text} ${described}`;
  const at = document?.locate(issue.path);
  return [{ fault: errorAt(dotted(issue.path), codeOf(issue, given), message, at) }];
}

function unknownKeys(
  schema: z.ZodType,
  { keys, path, message: ownWords }: z.core.$ZodIssueUnrecognizedKeys,
  document?: SourceDocument,
): FoundFault[] {
  const known = knownKeys(schema, path);
  return keys.map((key) => {
    // A schema may have words of its own for a key that it once had.
    const isOwn = ownWords.includes(`\`${key}\``);
    const near = isOwn || known.includes(key) ? undefined : nearestKey(key, known);
    const shown = near === undefined && !known.includes(key) && isMixed(key) ? REDACTED : key;
    const message = isOwn ? ownWords : unknownKeyText(schema, path, shown, known);
    const at = document?.locate([...path, key], "key");
    const fault = errorAt(dotted([...path, shown]), "unknown_key", message, at);
    return near === undefined ? { fault } : { fault, meant: dotted([...path, near]) };
  });
}

/** Reports a service's key in the place of a map's name. The fault never shows it. */
function keyAsName({ path }: Issue, document?: SourceDocument): Fault {
  const shown = dotted([...path.slice(0, -1), REDACTED]);
  return errorAt(shown, "impossible_value", KEY_AS_NAME, document?.locate(path, "key"));
}

function unknownKeyText(
  schema: z.ZodType,
  path: readonly PropertyKey[],
  key: string,
  known: readonly string[],
): string {
  if (key === "<<")
    return "`<<` merges nothing here: write the keys out, or repeat a whole block by an alias (`c: *b`).";
  if (known.includes(key)) {
    const form = formWith(schema, path, key);
    return form === undefined
      ? `\`${key}\` can't be combined with the other keys here: remove it.`
      : `\`${key}\` goes with \`${form}\` only: remove it here, or set \`${form}\`.`;
  }
  const none =
    known.length > 0 ? `Known keys here: ${listOf(known)}.` : "No keys are allowed here.";
  return `Unknown key \`${key}\`. ${nearOf(key, known, none)}`;
}

/** Says which choice gives a block of several forms the form that has a key: `mode: host`. */
function formWith(
  schema: z.ZodType,
  path: readonly PropertyKey[],
  key: string,
): string | undefined {
  for (const union of schemasAt(schema, path).flatMap(bare)) {
    if (!(union instanceof z.ZodDiscriminatedUnion)) continue;
    const { discriminator } = union.def;
    for (const option of union.options) {
      if (!(option instanceof z.ZodObject) || !(key in option.shape)) continue;
      const chooser: unknown = (option.shape as Record<string, unknown>)[discriminator];
      if (chooser instanceof z.ZodLiteral)
        return `${discriminator}: ${[...chooser.values].map(String).join(" or ")}`;
    }
  }
  return undefined;
}

const depth = (issues: readonly Issue[]): number =>
  Math.max(
    0,
    ...issues.map((issue) => issue.path.length + (issue.code === "unrecognized_keys" ? 1 : 0)),
  );

function codeOf(issue: Issue, value: unknown): string {
  switch (issue.code) {
    case "invalid_type":
    case "invalid_union":
      return value === undefined ? "missing_key" : "wrong_type";
    case "invalid_value":
      return value === undefined ? "missing_key" : "unknown_value";
    case "too_big":
    case "too_small":
    case "not_multiple_of":
      return "out_of_range";
    case "invalid_format":
      return "wrong_form";
    default:
      return "impossible_value";
  }
}

/**
 * A fault with this code and message for each secret in a document, by path and place. None is
 * added where something is wrong with the key or with its map anyway: that fault is more exact.
 */
export function secretFaults(
  value: unknown,
  found: readonly Fault[],
  { code, message }: Pick<Fault, "code" | "message">,
  document?: Pick<SourceDocument, "locate">,
): Fault[] {
  const wrong = new Set(
    found.filter(({ severity }) => severity === "error").map(({ path }) => withoutKeys(path)),
  );
  return secretPaths(value)
    .filter(
      (path) => !wrong.has(withoutKeys(dotted(path))) && !wrong.has(dotted(path.slice(0, -1))),
    )
    .map((path) => errorAt(dotted(path), code, message, document?.locate(path)));
}

/** The value at a path, `undefined` where there is none. */
export function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let value: unknown = root;
  for (const step of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<PropertyKey, unknown>)[step];
  }
  return value;
}

/**
 * The schema's description of a key up to its first full stop: a fault's message has no room for
 * all of it.
 */
function describe(schema: z.ZodType | undefined): string | undefined {
  const text = schema && z.globalRegistry.get(schema)?.description;
  return text === undefined
    ? undefined
    : `(${/^[\s\S]*?(?:\.(?=\s|$)|$)/.exec(text)?.[0] ?? text})`;
}

/** What a key of numbers takes, by its schema and what stands around it. */
function numberKey(
  root: unknown,
  path: readonly PropertyKey[],
  schema: z.ZodType | undefined,
): NumberKey {
  const judge = schema && bare(schema);
  const total = judge && shareOf.get(judge)?.total;
  const totalGiB = total === undefined ? undefined : numberAround(root, path, total);
  return {
    key: unitKey(path),
    isWhole: judge instanceof z.ZodNumber && judge.isInt,
    ...defined({ share: total === undefined ? undefined : defined({ totalGiB }) }),
  };
}

/** The number that a map around a path has under a key: the innermost. */
function numberAround(
  root: unknown,
  path: readonly PropertyKey[],
  key: string,
): number | undefined {
  const found = path
    .map((_, depth) => valueAt(root, [...path.slice(0, depth), key]))
    .findLast((value) => typeof value === "number" && value > 0);
  return typeof found === "number" ? found : undefined;
}

function knownKeys(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  const keys = schemasAt(schema, path).flatMap((found) => {
    const inner = unwrap(found);
    return inner.flatMap((each) => (each instanceof z.ZodObject ? Object.keys(each.shape) : []));
  });
  return [...new Set(keys)];
}

/** The schemas that judge the value at a path: several where a union leaves a choice. */
export function schemasAt(schema: z.ZodType, path: readonly PropertyKey[]): z.ZodType[] {
  let found: z.ZodType[] = [schema];
  for (const step of path) {
    found = found.flatMap(unwrap).flatMap((each): z.ZodType[] => {
      if (each instanceof z.ZodObject) {
        const child = (each.shape as Record<string, z.ZodType | undefined>)[String(step)];
        return child === undefined ? [] : [child];
      }
      if (each instanceof z.ZodRecord) return [each.valueType as z.ZodType];
      if (each instanceof z.ZodArray) return [each.element as z.ZodType];
      return [];
    });
  }
  return found;
}

/** The schema below `optional`, `default` and the like. */
function bare(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault
    ? bare(schema.unwrap() as z.ZodType)
    : schema;
}

function unwrap(wrapped: z.ZodType): z.ZodType[] {
  const schema = bare(wrapped);
  if (schema instanceof z.ZodUnion)
    return schema.options.flatMap((option) => unwrap(option as z.ZodType));
  if (schema instanceof z.ZodPipe) return unwrap(schema.in as z.ZodType);
  return [schema];
}
