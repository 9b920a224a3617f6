import known from "./subcommands.json";
import { isText, type Word } from "./unknown";

/** What a subcommand of vLLM does, and how many words name it. */
export interface Subcommand {
  readonly does: "serves" | "loads" | "nothing";
  readonly length: number;
}

const SUBCOMMANDS = known.subcommands.map(({ words, does, alone = false }) => ({
  words: words.split(" "),
  does: does as Subcommand["does"],
  alone,
}));

/** Prints help, and starts nothing. */
const HELP = /^(?:-h|--help(?:=.*)?)$/;

/** Finds the subcommand that the words behind `vllm` begin with; `undefined` for any other. */
export function subcommandOf(words: readonly Word[]): Subcommand | undefined {
  const found = SUBCOMMANDS.find(
    (each) =>
      each.words.every((word, index) => words[index] === word) &&
      (!each.alone || words.length === each.words.length),
  );
  if (found === undefined) return undefined;
  const length = found.words.length;
  const [first, ...more] = words.slice(length);
  const onlyHelps = isText(first) && HELP.test(first) && more.length === 0;
  return { does: onlyHelps ? "nothing" : found.does, length };
}
