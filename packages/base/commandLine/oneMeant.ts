import type { Command } from "commander";
import { shellWords } from "../faults/shellWords";
import { SeveralMeant, WrongUse } from "./exit";
import { endingInOrder } from "./interrupt";
import { oneOf } from "./saysYes";

/**
 * Runs a command with its arguments. Where one of them means several things, a person chooses;
 * without one (`asks`), or without an answer, it throws `WrongUse` with the command to type for
 * each.
 */
export async function withOneMeant<Values extends readonly unknown[], Result>(
  made: Command,
  asks: () => boolean,
  run: (values: Values) => Result | Promise<Result>,
): Promise<Result> {
  // commander has parsed them by the arguments' own forms.
  const values = made.processedArgs as unknown as Values;
  try {
    return await run(values);
  } catch (error) {
    if (!(error instanceof SeveralMeant) || !values.includes(error.given)) throw error;
    const { given, why, choices } = error;
    const chosen = asks()
      ? await endingInOrder((signal) => oneOf(`${why}.`, choices, signal, undefined))
      : undefined;
    if (chosen === undefined)
      throw new WrongUse(
        [`${why}. Type one of these:`, ...choices.map((each) => typed(made, given, each))].join(
          "\n",
        ),
      );
    return run(values.map((each) => (each === given ? chosen : each)) as unknown as Values);
  }
}

/** The command line as it was typed, with another name in place of the given one. */
function typed(made: Command, given: string, chosen: string): string {
  const words = typedWords(made);
  const takesValue = (word: string | undefined) =>
    made.options.some(
      ({ long, short, required }) => required && word !== undefined && [long, short].includes(word),
    );
  const at = words.findIndex((word, index) => word === given && !takesValue(words[index - 1]));
  return `  serving ${shellWords(words.map((word, index) => (index === at ? chosen : word)))}`;
}

/** What was typed, from the command's name on. */
function typedWords(made: Command): readonly string[] {
  let [root, first] = [made, made];
  for (; root.parent !== null; root = root.parent) first = root;
  // commander keeps the words, though its types don't tell of them.
  const { rawArgs } = root as Command & { readonly rawArgs: readonly string[] };
  return rawArgs.slice(rawArgs.indexOf(first.name()));
}
