import type { JsonSchema } from "@local-serving/harness/schema/jsonSchema";
import fc from "fast-check";

/**
 * JSON values of every type and of sizes beside any bound, to be put where something else belongs.
 */
const WRONG: readonly unknown[] = [
  null,
  true,
  "",
  "no such value",
  "2026-02-30",
  0,
  -1,
  0.5,
  70_000,
  1e12,
  [],
  ["x"],
  {},
  { noSuchKey: 1 },
];

/** A document with one thing changed, what was changed, and what was there. */
export interface Mutation {
  readonly what: string;
  readonly was: unknown;
  readonly document: unknown;
}

/**
 * Every document that differs in one place: a key removed, unknown or of another value, an item
 * doubled or of another value.
 */
export function* mutations(value: unknown, path: readonly string[] = []): Generator<Mutation> {
  const at = path.join(".");
  for (const wrong of WRONG) {
    if (JSON.stringify(wrong) !== JSON.stringify(value))
      yield { what: `${at} = ${JSON.stringify(wrong)}`, was: value, document: wrong };
  }
  if (Array.isArray(value)) {
    yield { what: `${at} without items`, was: value, document: [] };
    yield { what: `${at} doubled`, was: value, document: [...value, ...value] };
    for (const [index, item] of value.entries()) {
      for (const mutation of mutations(item, [...path, String(index)])) {
        yield { ...mutation, document: value.with(index, mutation.document) };
      }
    }
  } else if (typeof value === "object" && value !== null) {
    yield { what: `${at}.noSuchKey`, was: value, document: { ...value, noSuchKey: 1 } };
    for (const [key, child] of Object.entries(value)) {
      const { [key]: _, ...rest } = value as Record<string, unknown>;
      yield { what: `${at} without ${key}`, was: value, document: rest };
      for (const mutation of mutations(child, [...path, key])) {
        yield { ...mutation, document: { ...value, [key]: mutation.document } };
      }
    }
  }
}

/**
 * Values that a JSON Schema takes, by what it says of them; keys that need not be there come and
 * go.
 */
export function instances(node: JsonSchema): fc.Arbitrary<unknown> {
  const own = ownInstances(node);
  const { examples = [], default: fallback } = node;
  const given = [...examples, ...(fallback === undefined ? [] : [fallback])];
  return given.length === 0 ? own : fc.oneof(own, fc.constantFrom(...given));
}

function ownInstances(node: JsonSchema): fc.Arbitrary<unknown> {
  const options = node.anyOf ?? node.oneOf;
  if (options !== undefined) return fc.oneof(...options.map(instances));
  if (node.const !== undefined) return fc.constant(node.const);
  if (node.enum !== undefined) return fc.constantFrom(...node.enum);
  switch (node.type) {
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.integer(bounds(node, 1));
    case "number":
      return fc.oneof(
        fc.integer(bounds(node, 1)),
        fc.double({ ...bounds(node, 0.001), noNaN: true }),
      );
    case "string":
      return texts(node);
    case "array":
      if (Array.isArray(node.items)) return fc.tuple(...node.items.map(instances));
      return fc.array(node.items === undefined ? fc.constant(1) : instances(node.items), {
        minLength: node.minItems ?? 0,
        maxLength: Math.max(node.minItems ?? 0, 3),
      });
    case "object":
      return objects(node);
    default:
      return fc.constantFrom(null, 1, "x", [], {});
  }
}

/** `step` is what an exclusive bound is left behind by. */
function bounds(node: JsonSchema, step: number): { min: number; max: number } {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = node;
  const min = minimum ?? (exclusiveMinimum === undefined ? -1000 : exclusiveMinimum + step);
  const most = Math.max(1_000_000, 2 * min);
  return {
    min,
    max: maximum ?? (exclusiveMaximum === undefined ? most : exclusiveMaximum - step),
  };
}

/**
 * Real dates, IPv4 addresses, texts of a pattern; of several patterns at once only the examples are
 * known to fit.
 */
function texts({
  format,
  pattern,
  allOf,
  examples,
  minLength = 0,
}: JsonSchema): fc.Arbitrary<unknown> {
  if (format === "ipv4") return fc.ipV4();
  if (format === "date")
    return fc
      .integer({ min: 0, max: 40_000 })
      .map((day) => new Date(day * 86_400_000).toISOString().slice(0, 10));
  if (pattern !== undefined && allOf === undefined) {
    // fast-check makes texts of patterns without Unicode classes; `\p{Cc}` is made plain for it.
    return fc.stringMatching(new RegExp(pattern.replaceAll("\\p{Cc}", "\\x00-\\x1f\\x7f-\\x9f")));
  }
  if (allOf !== undefined || pattern !== undefined) return fc.constantFrom(...(examples ?? []));
  return fc.string({ minLength, maxLength: minLength + 12 });
}

function objects(node: JsonSchema): fc.Arbitrary<unknown> {
  const properties = Object.entries(node.properties ?? {});
  const record = fc.record(
    Object.fromEntries(properties.map(([key, child]) => [key, instances(child)])),
    {
      requiredKeys: node.required ?? [],
    },
  );
  if (typeof node.additionalProperties !== "object") return record;
  const names =
    node.propertyNames === undefined
      ? fc.constantFrom("some-id", "other")
      : instances(node.propertyNames);
  const free = fc.dictionary(names.map(String), instances(node.additionalProperties), {
    maxKeys: 2,
  });
  return fc.tuple(record, free).map(([known, other]) => ({ ...other, ...known }));
}
