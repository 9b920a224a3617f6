import { NAMES_MODEL, type ServerValue } from "../models/serverValues";
import { declaredNames } from "./declared";
import type { Wanted, WantedServer } from "./settings";

/**
 * A server's values with names that no other server of the stack file answers to: its own becomes
 * the next free one, and of its aliases those that are taken go.
 */
export function withFreeNames(
  values: readonly ServerValue[],
  { into, beside = [] }: Pick<Wanted, "into" | "beside">,
): { readonly values: readonly ServerValue[]; readonly told: readonly string[] } {
  // Of servers that start on request nobody could tell which one a name means.
  const isAsked = [values, ...beside.map((each) => each.values)].some((each) =>
    each.some(({ path }) => path[0] === "start"),
  );
  if (into === undefined && !isAsked) return { values, told: [] };
  const declared = into === undefined ? [] : declaredNames(into);
  const taken = new Map([...beside.flatMap(namesOf), ...declared]);
  const told: string[] = [];
  const free = values.flatMap((each): ServerValue[] => {
    const { path, value } = each;
    if (path.join(".") === "servedModelName" && typeof value === "string") {
      const name = freeName(value, taken);
      if (name === value) return [each];
      told.push(`\`${taken.get(value)}\` answers to ${value}: the server is called ${name}.`);
      return [{ ...each, value: name, why: NAMES_MODEL }];
    }
    if (path.join(".") !== "aliases" || !Array.isArray(value)) return [each];
    const gone = value.filter((name) => taken.has(String(name)));
    if (gone.length === 0) return [each];
    for (const name of gone)
      told.push(`\`${taken.get(String(name))}\` answers to ${name}: the server doesn't.`);
    const kept = value.filter((name) => !gone.includes(name));
    return kept.length === 0 ? [] : [{ ...each, value: kept }];
  });
  return { values: free, told };
}

/** The names of a server that the file gets as well. */
const namesOf = ({ key, values }: WantedServer) =>
  values
    .filter(({ path }) => ["servedModelName", "aliases"].includes(path.join(".")))
    .flatMap(({ value }) => (Array.isArray(value) ? value : [value]))
    .map((name) => [String(name), key] as const);

function freeName(name: string, taken: ReadonlyMap<string, string>): string {
  for (let number = 2, free = name; ; number++) {
    if (!taken.has(free)) return free;
    free = `${name}-${number}`;
  }
}
