import { Command, CommanderError } from "commander";
import { FaultyInput, faultLine, UnreadableInput } from "../faults/fault";
import { version } from "../package.json";
import { commands } from "./commands";
import { EXIT, WrongUse } from "./exit";
import { say } from "./output";

/** Builds the command line; nothing runs until `parseAsync`. */
export function serving(): Command {
  const program = new Command("serving")
    .description("Plan, check and operate a local model-serving machine.")
    .version(version)
    .showHelpAfterError("(add --help for an example)")
    .exitOverride();
  for (const command of commands()) program.addCommand(inherit(program, command));
  return program;
}

/** commander copies settings to sub-commands only when it makes them itself. */
function inherit(parent: Command, command: Command): Command {
  command.copyInheritedSettings(parent);
  for (const child of command.commands) inherit(command, child);
  return command;
}

/** The exit code for what went wrong, after saying it. A user's mistake gets no stack trace. */
export function explainFailure(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.fine : EXIT.wrongUse;
  if (error instanceof WrongUse || error instanceof UnreadableInput) {
    say(error.message);
    return EXIT.wrongUse;
  }
  if (error instanceof FaultyInput) {
    const count = error.faults.length === 1 ? "1 fault" : `${error.faults.length} faults`;
    say(`${error.input}: ${count}`);
    for (const fault of error.faults) say(`  ${faultLine(fault, error.input)}`);
    return EXIT.faults;
  }
  throw error;
}

async function main(): Promise<void> {
  // A reader that goes away (`serving plan | head`) is not a fault of ours.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(EXIT.fine);
    throw error;
  });
  try {
    await serving().parseAsync();
  } catch (error) {
    process.exitCode = explainFailure(error);
  }
}

if (require.main === module) void main();
