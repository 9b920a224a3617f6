import { EXIT, explainEscapes, explainFailure } from "@local-serving/base/commandLine/exit";
import { endWhenWritten, say } from "@local-serving/base/commandLine/output";
import type { Command } from "commander";
import { keyReference } from "./stack/keyReference";

/** Runs the command that these words name, and ends the process. */
export async function main(
  commandLine: (words: readonly string[]) => Promise<Command>,
  words: readonly string[],
): Promise<void> {
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
    await (await commandLine(words)).parseAsync(words, { from: "user" });
  } catch (error) {
    process.exitCode = explainFailure(error, "serving", keyReference);
  }
  await endWhenWritten();
}
