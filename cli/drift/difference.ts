/** How something on a machine differs from what was planned for it; `null` where there is none. */
export interface Difference {
  /**
   * A setting of Docker (`image`, `restart`), an argument (`--max-model-len`), `env NAME`, `mode`,
   * `text` ...
   */
  readonly what: string;
  readonly planned: string | null;
  readonly found: string | null;
  /** The same, to be said behind the thing's name. */
  readonly says: string;
}

export const differs = (
  what: string,
  planned: string | null,
  found: string | null,
): Difference => ({
  what,
  planned,
  found,
  says:
    found === null
      ? `lacks ${what} ${planned}`.trim()
      : `has ${what} ${found}`.trim() +
        (planned === null ? ", which is not planned" : `, but ${planned} is planned`),
});

/** One that isn't there, or isn't as it is to be, in one word. */
export const isNot = (what: string, planned: string, found: string): Difference => ({
  what,
  planned,
  found,
  says: `is ${found}`,
});

/** A container that somebody made by hand differs in everything. */
const MOST = 5;

/** What is said of a thing that differs, once it is long enough to be another one. */
export function saidOf(differences: readonly Difference[]): string[] {
  const said = differences.map(({ says }) => says);
  return said.length <= MOST
    ? said
    : [...said.slice(0, MOST), `differs in ${said.length - MOST} more things`];
}
