/** A value as the harness's reader sees it: always text. Lines are counted from 1. */
type NaiveValue = { readonly text: string; readonly line: number };

/** A profile by its sections and keys, as the harness's reader finds them. */
export interface NaiveProfile {
  /**
   * What the harness finds under a key of a section; the key is looked up as it is written
   * (`peer_for.codex`).
   */
  readonly get: (section: string, key: string) => NaiveValue | undefined;
  readonly entries: () => Iterable<{
    readonly section: string;
    readonly key: string;
    readonly value: NaiveValue;
  }>;
}

/**
 * Reads a profile as the harness does, which is not as TOML says: line by line, without knowing of
 * strings that span lines. A line that begins with `[` starts a section, named by the whole line
 * without brackets and spaces. A key counts only at the very start of a line, followed by spaces
 * and `=`. The value is everything behind the first `=` and the spaces after it, less one double
 * quote at its start and one at its end. The first match in a section wins.
 */
export function readNaively(text: string): NaiveProfile {
  const values = new Map<string, Map<string, NaiveValue>>();
  let current = "";
  for (const [index, line] of text.split("\n").entries()) {
    if (line.startsWith("[")) current = line.replace(/[[\] ]/g, "");
    const equals = line.indexOf("=");
    if (equals === -1) continue;
    const key = trimSpacesEnd(line.slice(0, equals));
    const section = values.get(current) ?? new Map<string, NaiveValue>();
    values.set(current, section);
    if (!section.has(key)) section.set(key, { text: valueBehind(line, equals), line: index + 1 });
  }
  return {
    get: (section, key) => values.get(section)?.get(key),
    *entries() {
      for (const [section, keys] of values)
        for (const [key, value] of keys) yield { section, key, value };
    },
  };
}

/**
 * Splits a list value into its items: removes brackets, splits at commas, then strips spaces and
 * one double quote on each side.
 */
export function naiveList(text: string): string[] {
  return text
    .replace(/[[\]]/g, "")
    .split(",")
    .map((item) => item.replace(/^ *"/, "").replace(/" *$/, ""))
    .filter((item) => item !== "");
}

function valueBehind(line: string, equals: number): string {
  const value = line.slice(equals + 1).replace(/^ +/, "");
  const opened = value.startsWith('"') ? value.slice(1) : value;
  return opened.endsWith('"') ? opened.slice(0, -1) : opened;
}

function trimSpacesEnd(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === " ") end -= 1;
  return text.slice(0, end);
}
