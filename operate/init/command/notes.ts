import { UnreadableInput } from "../../../faults/fault";
import { COMMAND, type LeftOut } from "./words";

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

/** The command that server B is to run, where there is one; `-` is stdin, of which `stdin` is the name. */
export async function publishedCommand(
  given: string | undefined,
  stdin = `${COMMAND} -`,
): Promise<string | undefined> {
  if (given !== "-") return given;
  if (process.stdin.isTTY)
    throw new UnreadableInput(stdin, "stdin is a terminal; pipe a command into it");
  let text = "";
  for await (const chunk of process.stdin.setEncoding("utf8")) {
    text += chunk;
    if (text.length > LONGEST_COMMAND)
      throw new UnreadableInput(stdin, "it is too long for a command or a recipe");
  }
  return text;
}

/** A recipe has a few thousand characters. */
const LONGEST_COMMAND = 100_000;
