/**
 * Stands for a value that is not known before the update. A rule meets this symbol instead of an
 * exception, so that one unknown value can't hide what the rule would have said about the next.
 */
export const UNKNOWN: unique symbol = Symbol("a value that is not known before the update");

/** A value that was read: there, absent (`undefined`), or not known yet. */
export type Read<T> = T | undefined | typeof UNKNOWN;

/**
 * Copies resource properties into plain data in which `UNKNOWN` stands for each value that is not
 * known yet.
 */
export const plainProps = (props: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.keys(props).map((key) => [key, plainAt(props, key)]));

function plainAt(container: object, key: PropertyKey): unknown {
  try {
    return plain(Reflect.get(container, key));
  } catch (error) {
    if (isUnknownValueError(error)) return UNKNOWN;
    throw error;
  }
}

function plain(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  // An Output that the program has not resolved, and a preview's unknown as the Node SDK writes it.
  if ("__pulumiOutput" in value || "__pulumiUnknown" in value) return UNKNOWN;
  if (Array.isArray(value))
    return Array.from({ length: value.length }, (_, index) => plainAt(value, index));
  return plainProps(value as Record<string, unknown>);
}

/**
 * `UnknownValueError` of @pulumi/policy, told by what it carries: this file is also used where that
 * package isn't.
 */
const isUnknownValueError = (error: unknown): boolean =>
  error instanceof Error && "unknownTypeSentinel" in error;

/** Text of a property; a number or a boolean counts as its text. */
export function text(value: unknown): Read<string> {
  if (value === UNKNOWN) return UNKNOWN;
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

/** A number property; not a number (NaN) where it is absent, something else or not known. */
export function figure(value: unknown): number {
  const known = text(value);
  return typeof known === "string" ? Number(known) : Number.NaN;
}

/** A list property; absent counts as empty. */
export function list(value: unknown): readonly unknown[] | typeof UNKNOWN {
  if (value === UNKNOWN) return UNKNOWN;
  return Array.isArray(value) ? value : [];
}

/** A map property, `undefined` where it is something else. */
export function map(value: unknown): Read<Readonly<Record<string, unknown>>> {
  if (value === UNKNOWN) return UNKNOWN;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return value as Readonly<Record<string, unknown>>;
}

/** A map property as far as it is known: empty where it is not, and where it is something else. */
export function knownMap(value: unknown): Readonly<Record<string, unknown>> {
  const read = map(value);
  return read === undefined || read === UNKNOWN ? {} : read;
}

/** The maps of a list property, as far as they are known. */
export function knownMaps(value: unknown): Readonly<Record<string, unknown>>[] {
  const entries = list(value);
  return entries === UNKNOWN
    ? []
    : entries.filter((each) => typeof map(each) === "object").map(knownMap);
}

/** `true` when the value, or anything inside it, is not known. */
export function holdsUnknown(value: unknown): boolean {
  if (value === UNKNOWN) return true;
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some(holdsUnknown);
}

/** Words of unknown number: a shell variable without quotes, or a list that is not known yet. */
export const SOME_WORDS: unique symbol = Symbol(
  "any number of words that are not known before the update",
);

/** One word of a command line, or a mark that it can't be read. */
export type Word = string | typeof UNKNOWN | typeof SOME_WORDS;

export const isText = (word: Word | undefined): word is string => typeof word === "string";

/** The last part of a path: `/usr/bin/sh` is `sh`. */
export const baseName = (word: string): string => word.slice(word.lastIndexOf("/") + 1);

/** A list property of a container as words. */
export function wordsOf(list: readonly unknown[] | typeof UNKNOWN): Word[] {
  if (list === UNKNOWN) return [SOME_WORDS];
  return list.map((item) => (item === UNKNOWN ? UNKNOWN : String(item)));
}
