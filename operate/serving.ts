import { Command } from "commander";
import { loadNamed } from "../commandLine/command";
import { EXIT, explainFailure } from "../commandLine/exit";
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

async function main(): Promise<void> {
  // A reader that goes away (`serving plan | head`) is not a fault of ours.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(EXIT.fine);
    throw error;
  });
  try {
    await (await serving(process.argv.slice(2))).parseAsync();
  } catch (error) {
    process.exitCode = explainFailure(error);
  }
}

if (require.main === module) void main();
