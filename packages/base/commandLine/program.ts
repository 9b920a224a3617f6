import { type AddHelpTextContext, Command, CommanderError } from "commander";
import type { Fault } from "../faults/fault";
import { type CommandTable, commandsOf, printRefusal } from "./command";
import { EXIT, explainEscapes, explainFailure } from "./exit";
import { flowing, helpWidth } from "./layout";
import { endWhenWritten, say } from "./output";
import { runsHere } from "./ownCommand";

/** A program as its `--help` shows it. */
export interface ProgramForm {
  readonly name: string;
  readonly description: string;
  /** Asked for late: a clone asks git. */
  readonly version: () => string;
  /** Words behind the name that show how it is used. */
  readonly example: string;
  /** What holds for all commands, below their list. */
  readonly notes?: string;
}

/** Heading of the commands that serve no one step, `help` among them. */
export const MORE_COMMANDS = "More:";

const VERSION = /^(?:-V|--version)$/;

/**
 * A program with these commands, and others that help doesn't list, for these arguments; nothing
 * runs until `parseAsync`.
 */
export async function programOf(
  form: ProgramForm,
  commands: CommandTable,
  args: readonly string[],
  unlisted: CommandTable = {},
): Promise<Command> {
  const program = emptyProgram(form, args);
  // No command is needed to say the version.
  const made = VERSION.test(args[0] ?? "")
    ? []
    : await commandsOf({ ...commands, ...unlisted }, args);
  for (const command of made)
    program.addCommand(inherit(program, command), {
      hidden: Object.hasOwn(unlisted, command.name()),
    });
  // Made before the commands are added, they would inherit it with its heading.
  return program.helpCommand(true);
}

function emptyProgram(form: ProgramForm, args: readonly string[]): Command {
  const { name, description, version, notes, example } = form;
  const program = new Command(name)
    .description(description)
    .option("-V, --version", "print the version, and its commit where that is known")
    .on("option:version", () => {
      const text = version();
      process.stdout.write(`${text}\n`);
      throw new CommanderError(EXIT.fine, "commander.version", text);
    })
    .showHelpAfterError("(add --help for an example)")
    .addHelpText("beforeAll", refuseUnknown)
    .commandsGroup(MORE_COMMANDS);
  if (notes !== undefined) program.addHelpText("after", () => `\n${flowing(notes, helpWidth())}`);
  return (
    program
      .addHelpText("after", `\nExample:\n  ${name} ${example}`)
      .configureOutput({
        writeOut: (text) => process.stdout.write(runsHere(text)),
        writeErr: (text) => say(text.trimEnd()),
        getOutHelpWidth: helpWidth,
      })
      // An option behind a command is that command's, also where the command before it has one of
      // the same name.
      .enablePositionalOptions()
      .exitOverride((error) => {
        if (asksForJson(args)) printRefusal(error);
        throw error;
      })
  );
}

/** Whether a command line that can't be read as a whole asks for a document. */
export const asksForJson = (args: readonly string[]): boolean =>
  args.some(
    (word, at) => word === "--format=json" || (word === "json" && args[at - 1] === "--format"),
  );

/** `help nosuch` is refused as `nosuch` alone is: commander would print the list without a word. */
function refuseUnknown({ error, command }: AddHelpTextContext): string {
  const [word, name] = command.args;
  if (error && word === "help" && name !== undefined) command.parse([name], { from: "user" });
  return "";
}

/** commander copies settings to sub-commands only when it makes them itself. */
function inherit(parent: Command, command: Command): Command {
  command.copyInheritedSettings(parent);
  for (const child of command.commands) inherit(command, child);
  return command;
}

/**
 * Runs the command that these words name, and ends the process. `more` gives lines to print below
 * faults.
 */
export async function runProgram(
  name: string,
  commandLine: (words: readonly string[]) => Promise<Command>,
  words: readonly string[],
  more?: (faults: readonly Fault[]) => readonly string[],
): Promise<void> {
  explainEscapes(name);
  // A reader that goes away (`serving plan | head`) is not a fault of ours.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(EXIT.fine);
    say(`The output can't be written: ${error.message}`);
    process.exit(EXIT.wrongUse);
  });
  // Nor is one of stderr: the command goes on, and its exit code says how it ended.
  process.stderr.on("error", () => undefined);
  try {
    await (await commandLine(words)).parseAsync(words, { from: "user" });
  } catch (error) {
    process.exitCode = explainFailure(error, name, more);
  }
  await endWhenWritten();
}
