import { CommanderError } from "commander";
import { FaultyInput, faultLine, UnreadableInput } from "../faults/fault";
import { EXIT, Failed, WrongUse } from "./exit";
import { say } from "./output";

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
  if (error instanceof Failed) {
    say(error.message);
    return EXIT.faults;
  }
  throw error;
}
