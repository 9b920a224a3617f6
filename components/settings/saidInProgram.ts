import { NPX } from "@local-serving/base/programFolder";

/** What stands for a copy of the settings, which commands read in the place of a stack file. */
const WITH_COPY = "--file COPY";

const ABOUT_COPY =
  "COPY is a stack file with the same machines (node_modules/local-serving/docs/guide/any-program.md says how to write it).";

/**
 * Words that hold for a stack file alone, and what holds for a program in their place. A program
 * has no project of ours, so a command there reads a copy of its settings and writes nothing. What
 * is said of another stack's folder stays.
 */
const IN_PROGRAM: readonly (readonly [RegExp, string])[] = [
  [/`serving up` lets its requests end first[^.]*\./g, "Running requests are cut off."],
  [
    /`serving up` waits for running requests .*/g,
    "An update cuts off the running requests of a server that it replaces or removes: only `serving up`, which reads a stack file, waits for them.",
  ],
  [/, as `serving up` at a terminal does first/g, ""],
  [/ \(`serving models add`[^)]*\)/g, ""],
  [/`serving (?:up|preview)`/g, "`pulumi up`"],
  [/(`serving pin [^`]*?) --write[^`]*`([^.]*?)\b(?:records|writes) /g, "$1`$2prints "],
  [/(`serving pin [^`]*?) --write[^`]*`/g, "$1`"],
  [
    /`serving ((?:plan|fetch|verify|status|doctor|logs|start|stop|bench|models use|pin llama-swap)\b[^`]*)`/g,
    `\`${NPX} $1 ${WITH_COPY}\``,
  ],
  [/`serving ((?:models|pin)\b)/g, `\`${NPX} $1`],
];

/**
 * Sentences as they hold in somebody's program: each command that they name runs in its folder. What
 * the commands read is said once, behind the last that names it.
 */
export function saidInProgram(sentences: readonly string[]): string[] {
  const said = sentences.map((sentence) =>
    IN_PROGRAM.reduce((text, [words, instead]) => text.replace(words, instead), sentence),
  );
  const last = said.findLastIndex((sentence) => sentence.includes(WITH_COPY));
  return said.map((sentence, index) => (index === last ? `${sentence} ${ABOUT_COPY}` : sentence));
}
