import type { LeftOut } from "./words";

/** What a person is told of a command. */
export interface CommandNotes {
  readonly leftOut: readonly LeftOut[];
  /** Options whose intent every server of ours has anyway. */
  readonly setHere: readonly string[];
  /** What the command leaves open, a sentence each. */
  readonly chosen: readonly string[];
}

export const leftOutText = ({ what, why }: LeftOut): string => `${what}: ${why}`;

/** What became of a command. */
export function notesText({ leftOut, setHere, chosen }: CommandNotes): string[] {
  const list = (title: string, items: readonly string[]) =>
    items.length === 0 ? [] : ["", `${title}:`, ...items.map((each) => `  - ${each}`)];
  return [
    ...list("Not carried over from the command", leftOut.map(leftOutText)),
    ...(setHere.length === 0 ? [] : ["", `Set for every server here: ${setHere.join(", ")}.`]),
    ...list("Not in the command, or different from it", chosen),
  ];
}
