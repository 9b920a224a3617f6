import { pageFromProject } from "../../stack/stackFile";
import type { LeftOut } from "./words";

/** What a person is told of a command. */
export interface CommandNotes {
  readonly leftOut: readonly LeftOut[];
  /** Options whose intent every server of ours has anyway. */
  readonly setHere: readonly string[];
  /** What the command leaves open, a sentence each. */
  readonly chosen: readonly string[];
}

export function leftOutText({ what, why, line, lines = [] }: LeftOut): string {
  const [first, ...more] = [...(line === undefined ? [] : [line]), ...lines];
  if (first === undefined) return `${what}: ${why}`;
  if (more.length === 0) return `${what} (line ${first}): ${why}`;
  const all = more.length < MOST_LINES ? [first, ...more].join(", ") : `${first} to ${more.at(-1)}`;
  return `${what} (lines ${all}): ${why}`;
}

/** Lines that are named one by one. */
const MOST_LINES = 5;

/** Options that the server of one GPU can't have: without them it would be another server. */
const FOR_MORE = /^--(?:(?:tensor|pipeline|data)-parallel-size|nnodes|headless)\b/;

/** The first option of a command that stays behind since it is for several GPUs. */
export const forSeveralGpus = (leftOut: readonly LeftOut[]): LeftOut | undefined =>
  leftOut.find(({ what }) => FOR_MORE.test(what));

/** What to mend where a command divides its model, and the server that is written doesn't. */
export function severalGpusText(leftOut: readonly LeftOut[]): string[] {
  const option = forSeveralGpus(leftOut);
  return option === undefined
    ? []
    : [
        `The command divides its model among several GPUs (${option.what}), and this server has one, which has to hold all of it: take a smaller model or fewer bits, or divide it between two machines (${pageFromProject("docs/guide/two-as-one.md")}), unless \`serving plan\` shows that it fits.`,
      ];
}

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
