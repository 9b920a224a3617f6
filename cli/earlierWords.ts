/**
 * Words of earlier releases, and what is typed for them today. Help doesn't list them; scripts find
 * the same exit codes and documents. An option may decide it.
 */
const TODAY: ReadonlyMap<string, readonly string[]> = new Map([
  ["wait", ["status", "--wait"]],
  ["drift", ["status", "--against", "applied"]],
  ["inventory", ["status", "--versions"]],
  ["inventory --leftovers", ["status"]],
  ["kv", ["models", "kv"]],
  ["config", ["harness"]],
  ["app", ["harness", "app"]],
  ["gate", ["harness", "gate"]],
]);

/** A command line with the words of today for those of an earlier release. */
export function todaysWords(typed: readonly string[]): readonly string[] {
  const [first = "", ...rest] = typed;
  // Alone it was the program's, with a name an image's.
  if (first === "upgrade" && /^[^-]/.test(rest[0] ?? "")) return ["pin", "--newer", ...rest];
  if (first === "help") return [first, ...todaysWords(rest).slice(0, 1)];
  const decided = rest.find((option) => TODAY.has(`${first} ${option}`));
  const today = TODAY.get(decided === undefined ? first : `${first} ${decided}`);
  return today === undefined ? typed : [...today, ...rest];
}

/** Words that are gone, and what took their place; they are answered until the next release. */
const GONE: ReadonlyMap<string, string> = new Map([
  [
    "upgrade",
    "`serving upgrade` is gone. npm upgrades this program: docs/upgrade.md says how. `serving pin --newer` lists newer images and what their vLLM makes of a server's arguments; once one is pinned, `serving plan --against applied` shows what it changes.",
  ],
]);

/** What took the place of the word that a command line begins with, if that word is gone. */
export function goneWord([first = "", second = ""]: readonly string[]): string | undefined {
  return GONE.get(first === "help" ? second : first);
}
