import "../faults/interpretSchemas";
import { EXIT, explainEscapes, explainFailure } from "../commandLine/exit";
import { endWhenWritten, say } from "../commandLine/output";
import { serving } from "./servingCommand";
import { keyReference } from "./stack/keyReference";

async function main(): Promise<void> {
  explainEscapes("serving");
  // A reader that goes away (`serving plan | head`) is not a fault of ours.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(EXIT.fine);
    say(`The output can't be written: ${error.message}`);
    process.exit(EXIT.wrongUse);
  });
  try {
    await (await serving(process.argv.slice(2))).parseAsync();
  } catch (error) {
    process.exitCode = explainFailure(error, "serving", keyReference);
  }
  await endWhenWritten();
}

void main();
