import { attempt } from "./defined";

/** A JSON object whose content is not known yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a parsed value is a map of keys to values: no list, no text, no date of TOML. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date)
  );
}

/** The objects of a list; nothing if the value is not a list. */
export const objectsIn = (value: unknown): JsonObject[] =>
  Array.isArray(value) ? value.filter(isRecord) : [];

/**
 * The value if it is an object, else an empty one: a missing part reads as a part without content.
 */
export const objectOr = (value: unknown): JsonObject => (isRecord(value) ? value : {});

/** The value if it is a text, else `""`. */
export const textOr = (value: unknown): string => (typeof value === "string" ? value : "");

/** Most values of a configuration file that a person wrote: several times what any has. */
export const MOST_VALUES = 10_000;

/** Why data is too large to be judged in a moment; `undefined` where it isn't. */
export function sizeRefusal(value: unknown): string | undefined {
  const rest = [value];
  for (let count = 0; rest.length > 0; count++) {
    if (count + rest.length > MOST_VALUES)
      return `holds more than ${MOST_VALUES} values; a configuration file has a few hundred`;
    const next = rest.pop();
    if (typeof next === "object" && next !== null)
      for (const inner of Object.values(next)) rest.push(inner);
  }
  return undefined;
}

/**
 * Puts a value into a document, with the blocks above it. `undefined` removes it. Returns the step
 * of the path that exists and is not a block.
 */
export function putAt(
  document: Record<string, unknown>,
  path: readonly string[],
  value: unknown,
): string | undefined {
  let at = document;
  for (const step of path.slice(0, -1)) {
    if (!Object.hasOwn(at, step)) {
      if (value === undefined) return undefined;
      at[step] = {};
    }
    const inner = at[step];
    if (!isRecord(inner)) return step;
    at = inner;
  }
  const key = path.at(-1) ?? "";
  if (value === undefined) delete at[key];
  else at[key] = value;
  return undefined;
}

/**
 * Sorts the keys of every map, so that a text of the data depends on nothing else. Lists keep their
 * order.
 */
export function inKeyOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inKeyOrder);
  if (typeof value !== "object" || value === null) return value;
  const map = value as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.keys(map)
      .sort()
      .map((key) => [key, inKeyOrder(map[key])]),
  );
}

/** The JSON value of a text; `undefined` if the text is not JSON. */
export const jsonIn = (text: string): unknown => attempt(() => JSON.parse(text) as unknown);
