import {
  type CommandTable,
  commandsOf,
  printRefusal,
} from "@local-serving/base/commandLine/command";
import { EXIT, WrongUse } from "@local-serving/base/commandLine/exit";
import { flowing, helpWidth } from "@local-serving/base/commandLine/layout";
import { say } from "@local-serving/base/commandLine/output";
import { runsHere } from "@local-serving/base/commandLine/ownCommand";
import { type AddHelpTextContext, Command, CommanderError } from "commander";
import { goneWord } from "./earlierWords";
import { versionText } from "./packages/version";
import { WHICH_STACK } from "./stack/whichStack";

/** Heading of the commands that serve no one step, `help` among them. */
export const MORE_COMMANDS = "More:";

const VERSION = /^(?:-V|--version)$/;

/**
 * `serving` with these commands, and others that help doesn't list, for these arguments; nothing
 * runs until `parseAsync`.
 */
export async function commandLineOf(
  commands: CommandTable,
  args: readonly string[],
  unlisted: CommandTable = {},
): Promise<Command> {
  const program = new Command("serving")
    .description("Plan, check and operate a local model-serving machine.")
    .option("-V, --version", "print the version, and its commit where that is known")
    .on("option:version", () => {
      // Asked for late: a clone asks git.
      const version = versionText();
      process.stdout.write(`${version}\n`);
      throw new CommanderError(EXIT.fine, "commander.version", version);
    })
    .showHelpAfterError("(add --help for an example)")
    .addHelpText("beforeAll", refuseUnknown)
    .commandsGroup(MORE_COMMANDS)
    .addHelpText("after", () => `\n${flowing(WHICH_STACK, helpWidth())}`)
    .addHelpText("after", "\nExample:\n  serving plan --stack dgx")
    .configureOutput({
      writeOut: (text) => process.stdout.write(runsHere(text)),
      writeErr: (text) => say(text.trimEnd()),
      getOutHelpWidth: helpWidth,
    })
    // An option behind a command is that command's, also where the command before it has one of the
    // same name.
    .enablePositionalOptions()
    .exitOverride((error) => {
      if (asksForJson(args)) printRefusal(error);
      throw error;
    });
  const gone = goneWord(args);
  if (gone !== undefined) {
    const refusal = new WrongUse(gone);
    if (asksForJson(args)) printRefusal(refusal);
    throw refusal;
  }
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

/** Whether a command line that can't be read as a whole asks for a document. */
const asksForJson = (args: readonly string[]): boolean =>
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
