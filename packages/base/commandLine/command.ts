import { type Argument, Command, type Option } from "commander";
import { defined } from "../faults/defined";
import { EXIT, type Refusal, refusalIn } from "./exit";
import { flowing, helpWidth } from "./layout";
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
  /** What it does; the table says it of a command in a table. */
  readonly description?: string;
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
  const made = new Command(form.name).description(form.description ?? "");
  for (const argument of form.arguments ?? []) made.addArgument(argument);
  const required = withOptions(made, form);
  if (form.notes !== undefined) withNotes(made, form.notes);
  made.addHelpText("after", `\nExample:\n  serving ${form.example}`);
  return made.action(async () => {
    refuseMissing(made, required);
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
 * Adds a command's options, its own before those of a group that several commands share. Returns
 * those that it can't do without.
 */
function withOptions(
  made: Command,
  { options = [], formats }: Pick<CommandForm<object, never>, "options" | "formats">,
): Option[] {
  const isShared = ({ helpGroupHeading }: Option) => helpGroupHeading !== undefined;
  const own = options.filter((option) => !isShared(option));
  for (const option of [...own, formatOption(formats), ...options.filter(isShared)])
    made.addOption(option);
  const required = options.filter(({ mandatory }) => mandatory);
  for (const option of required) {
    option.description += " (required)";
    // Commander would end at the first one that is missing.
    option.makeOptionMandatory(false);
  }
  return required;
}

/** Ends, in the words of commander, with every option that is missing. */
function refuseMissing(made: Command, required: readonly Option[]): void {
  const missing = required.filter(
    (option) => made.getOptionValue(option.attributeName()) === undefined,
  );
  const [option, ...others] = missing.map(({ flags }) => `'${flags}'`);
  if (option === undefined) return;
  const message =
    others.length === 0
      ? `error: required option ${option} not specified`
      : `error: required options ${[option, ...others].join(", ")} not specified`;
  made.error(message, { code: "commander.missingMandatoryOptionValue" });
}

/** Shows these notes at the end of a command's help. */
export const withNotes = (made: Command, notes: string): Command =>
  made.addHelpText("after", () => `\n${flowing(notes, helpWidth())}`);

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
    .description(form.description ?? "")
    .addHelpText("after", `\nExample:\n  serving ${form.example}`);
  for (const each of commands) group.addCommand(each);
  return group;
}

/** A command that is made only where it is named. */
export interface TableCommand {
  readonly description: string;
  /** Heading below which help lists it. */
  readonly group?: string;
  /** Gets the words behind its name. */
  readonly load: (words: readonly string[]) => Command | Promise<Command>;
}

/** Commands by name, in the order of `--help`. */
export type CommandTable = Readonly<Record<string, TableCommand>>;

/**
 * The commands of a table for these words. Only the one that they name is whole, so that neither a
 * start nor a list of all waits for what the others need.
 */
export function commandsOf(table: CommandTable, words: readonly string[]): Promise<Command[]> {
  const at = words.findIndex((word) => !word.startsWith("-") && word !== "help");
  const made = Object.entries(table).map(async ([name, { description, group, load }]) => {
    const command = name === words[at] ? await load(words.slice(at + 1)) : new Command(name);
    if (group !== undefined) command.helpGroup(group);
    return command.description(description);
  });
  return Promise.all(made);
}
