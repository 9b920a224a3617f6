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
  if (first === "help") return [first, ...todaysWords(rest).slice(0, 1)];
  const decided = rest.find((option) => TODAY.has(`${first} ${option}`));
  const today = TODAY.get(decided === undefined ? first : `${first} ${decided}`);
  return today === undefined ? typed : [...today, ...rest];
}
