/** An object's type once the keys whose value is undefined are gone. */
export type Defined<T extends object> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** What `read` gives; `undefined` where it fails, for whatever reason. */
export function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/**
 * The value of a map's own key. What a person wrote may be called `constructor`, which every object
 * has.
 */
export const ownValue = <Value>(
  map: Readonly<Record<string, Value>>,
  key: string,
): Value | undefined => (Object.hasOwn(map, key) ? map[key] : undefined);

/**
 * Drops keys whose value is undefined: an optional key must be absent, since readers ask whether it
 * is there.
 */
export const defined = <T extends object>(object: T): Defined<T> =>
  Object.fromEntries(
    Object.entries(object).filter(([, value]) => value !== undefined),
  ) as Defined<T>;
