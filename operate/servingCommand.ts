import { Command } from "commander";
import { loadNamed } from "../commandLine/command";
import { version } from "../package.json";
import { COMMANDS } from "./commands";

/** Builds the command line for these arguments; nothing runs until `parseAsync`. */
export async function serving(args: readonly string[]): Promise<Command> {
  const program = new Command("serving")
    .description("Plan, check and operate a local model-serving machine.")
    .version(version)
    .showHelpAfterError("(add --help for an example)")
    .addHelpText("after", "\nExample:\n  serving plan --stack dgx")
    .exitOverride();
  for (const command of await loadNamed(COMMANDS, args)) program.addCommand(inherit(program, command));
  return program;
}

/** commander copies settings to sub-commands only when it makes them itself. */
function inherit(parent: Command, command: Command): Command {
  command.copyInheritedSettings(parent);
  for (const child of command.commands) inherit(command, child);
  return command;
}
