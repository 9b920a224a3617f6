import "../faults/interpretSchemas";
import { EXIT, explainFailure } from "../commandLine/exit";
import { serving } from "./servingCommand";

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

void main();
