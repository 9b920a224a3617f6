import type { Command } from "commander";

/** Commands by name, in the order in which `--help` lists them; each is loaded by itself, with the arguments behind its name. */
export type CommandTable = Readonly<
  Record<string, (args: readonly (string | undefined)[]) => Promise<Command>>
>;

/**
 * The command that the first argument names, alone: a start doesn't wait for what the others need. Where it names none
 * all of them, since help or an error then lists them.
 */
export function loadNamed(
  table: CommandTable,
  [name, ...rest]: readonly (string | undefined)[],
): Promise<Command[]> {
  const all = Object.entries(table);
  const named = all.filter(([each]) => each === name);
  return Promise.all(
    named.length > 0 ? named.map(([, load]) => load(rest)) : all.map(([, load]) => load([])),
  );
}
