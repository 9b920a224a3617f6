import "../faults/interpretSchemas";
import type { CommandTable } from "../commandLine/command";
import { EXIT, explainEscapes, explainFailure } from "../commandLine/exit";
import { endWhenWritten, say } from "../commandLine/output";
import { commandLineOf } from "./commandLineOf";
import { keyReference } from "./stack/keyReference";

/** Runs the command of this process's command line, and ends the process. */
export async function main(commands: CommandTable): Promise<void> {
  explainEscapes("serving");
  // A reader that goes away (`serving plan | head`) is not a fault of ours.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(EXIT.fine);
    say(`The output can't be written: ${error.message}`);
    process.exit(EXIT.wrongUse);
  });
  // Nor is one of stderr: the command goes on, and its exit code says how it ended.
  process.stderr.on("error", () => undefined);
  try {
    await (await commandLineOf(commands, process.argv.slice(2))).parseAsync();
  } catch (error) {
    process.exitCode = explainFailure(error, "serving", keyReference);
  }
  await endWhenWritten();
}
