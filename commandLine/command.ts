import { type Argument, Command, type Option } from "commander";
import { defined } from "../faults/defined";
import { EXIT, type Refusal, refusalIn } from "./exit";
import { withOneMeant } from "./oneMeant";
import { type Format, formatOption, printResult } from "./output";
import { canAsk } from "./saysYes";

/** How a command ended. */
export interface Outcome {
  /** The document that `--format json` prints. */
  readonly result: object;
  /** What a person reads instead. Empty text prints nothing. */
  readonly text: string;
  /**
   * Exit code 1 when `true`: faults were found or something was refused. Exit code 2 when
   * `"unreadable"`.
   */
  readonly failed?: boolean | "unreadable";
}

export interface CommandForm<Options extends object, Arguments extends unknown[]> {
  readonly name: string;
  readonly description: string;
  /** `run` gets their values behind the options, in this order. */
  readonly arguments?: readonly Argument[];
  readonly options?: readonly Option[];
  /**
   * What `--format` takes; text and JSON if it is absent. What isn't JSON is printed as the
   * outcome's text.
   */
  readonly formats?: readonly Format[];
  readonly notes?: string;
  /** A command line without the word `serving`, shown at the end of `--help`. */
  readonly example: string;
  /** Version of its document; without this it is that of every command's. */
  readonly version?: number;
  /**
   * What `--format json` prints beside `faults` when the input is faulty or can't be read. They go to
   * stderr too, and the exit code is 1 or 2.
   */
  readonly refused?: (refusal: Refusal) => object;
  run(
    options: Options & { readonly format: Format },
    ...values: Arguments
  ): Outcome | Promise<Outcome>;
}

/** Makes a command that prints its outcome in the wanted format and sets the exit code. */
export function command<Options extends object, Arguments extends unknown[]>(
  form: CommandForm<Options, Arguments>,
): Command {
  const made = new Command(form.name).description(form.description);
  for (const argument of form.arguments ?? []) made.addArgument(argument);
  for (const option of [...(form.options ?? []), formatOption(form.formats)])
    made.addOption(option);
  if (form.notes !== undefined) made.addHelpText("after", `\n${form.notes}`);
  made.addHelpText("after", `\nExample:\n  serving ${form.example}`);
  return made.action(async () => {
    const options = made.opts<Options & { readonly format: Format }>();
    try {
      const run = (values: Arguments) => form.run(options, ...values);
      const { result, text, failed = false } = await withOneMeant(made, () => canAsk(options), run);
      printResult(options.format, result, text);
      process.exitCode = failed === "unreadable" ? EXIT.wrongUse : failed ? EXIT.faults : EXIT.fine;
    } catch (error) {
      if (options.format === "json") printRefusal(error, form);
      throw error;
    }
  });
}

/**
 * Prints the document of a command that ends without a result: its faults, so that a script finds
 * one document whatever went wrong. A bug has none.
 */
export function printRefusal(
  error: unknown,
  { version, refused }: Pick<CommandForm<object, never>, "version" | "refused"> = {},
): void {
  const refusal = refusalIn(error);
  if (refusal === undefined) return;
  const { faults, input } = refusal;
  const more = input === undefined ? undefined : refused?.(refusal);
  printResult("json", { ...defined({ version }), faults, ...more }, "");
}

/** Makes a command that only holds others. */
export function commandGroup(
  form: Pick<CommandForm<object, []>, "name" | "description" | "example">,
  commands: readonly Command[],
): Command {
  const group = new Command(form.name)
    .description(form.description)
    .addHelpText("after", `\nExample:\n  serving ${form.example}`);
  for (const each of commands) group.addCommand(each);
  return group;
}

/**
 * Commands by name, in the order of `--help`. Each is made alone, so that a start doesn't wait for
 * what the others load, and gets the arguments behind its name.
 */
export type CommandTable = Readonly<
  Record<string, (args: readonly (string | undefined)[]) => Command | Promise<Command>>
>;

/**
 * Makes only the command that the first argument names, and all when it names none, since help or an
 * error then lists them.
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
