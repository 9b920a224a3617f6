/** Data of one version of a program. */
export type Value = Plain | readonly Plain[] | Values;
export type Plain = string | number | boolean | null;
interface Values {
  readonly [key: string]: Value;
}

/**
 * How a version differs from the one before it. Items of a list are taken away and added one by one
 * where both versions have it in order; any other list is replaced.
 */
export interface VersionDifference {
  /** A list or map that is empty without what is gone goes as a whole. */
  readonly gone?: Value | undefined;
  readonly added?: Value | undefined;
}

/** The data of a version, from those of the version before; nothing comes before the first. */
export const applied = (before: Value | undefined, { gone, added }: VersionDifference) =>
  withAdded(without(before, gone), added);

/** The difference that makes `after` of `before`. */
export function difference(before: Value | undefined, after: Value): VersionDifference {
  const gone = goneFrom(before, after);
  return { gone, added: addedTo(without(before, gone), after) };
}

function without(before: Value | undefined, gone: Value | undefined): Value | undefined {
  if (before === undefined || gone === undefined) return before;
  if (isList(before) && isList(gone)) {
    const left = before.filter((item) => !gone.includes(item));
    return left.length === 0 ? undefined : left;
  }
  if (!isMap(before) || !isMap(gone)) return undefined;
  return mapped(before, (value, key) => without(value, gone[key]));
}

function withAdded(left: Value | undefined, added: Value | undefined): Value | undefined {
  if (added === undefined) return left;
  if (isList(left) && isList(added)) return [...left, ...added].sort();
  if (!isMap(left) || !isMap(added)) return added;
  const both = { ...left, ...mapped(added, (value, key) => withAdded(left[key], value)) };
  return Object.keys(added).every((key) => key in left) ? both : inOrder(both);
}

const inOrder = (values: Values): Values =>
  Object.fromEntries(Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)));

function goneFrom(before: Value | undefined, after: Value): Value | undefined {
  if (isList(before) && isList(after)) {
    if (JSON.stringify(before) === JSON.stringify(after)) return undefined;
    const isByItem = isInOrder(before) && isInOrder(after);
    const gone = isByItem ? before.filter((item) => !after.includes(item)) : before;
    return isByItem && gone.length === 0 ? undefined : gone;
  }
  if (!isMap(before) || !isMap(after)) return undefined;
  return mapped(before, (value, key) => {
    const next = after[key];
    return next === undefined ? value : goneFrom(value, next);
  });
}

function addedTo(left: Value | undefined, after: Value): Value | undefined {
  if (isList(left) && isList(after)) {
    const added = after.filter((item) => !left.includes(item));
    return added.length === 0 ? undefined : added;
  }
  if (isMap(left) && isMap(after)) return mapped(after, (value, key) => addedTo(left[key], value));
  return left === after ? undefined : after;
}

/** Each value made anew, without those that come to nothing; nothing if none is left. */
function mapped(
  values: Values,
  made: (value: Value, key: string) => Value | undefined,
): Values | undefined {
  const entries = Object.entries(values).flatMap(([key, value]): [string, Value][] => {
    const result = made(value, key);
    return result === undefined ? [] : [[key, result]];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

const isList = (value: Value | undefined): value is readonly Plain[] => Array.isArray(value);

const isMap = (value: Value | undefined): value is Values =>
  typeof value === "object" && value !== null && !isList(value);

const isInOrder = (list: readonly Plain[]) =>
  list.every((item, at) => typeof item === "string" && (at === 0 || (list[at - 1] ?? "") < item));
