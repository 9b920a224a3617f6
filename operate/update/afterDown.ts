import { Failed } from "../../commandLine/exit";
import { say } from "../../commandLine/output";
import { FaultyInput, UnreadableInput } from "../../faults/fault";
import { plannedStack } from "../stack/readStack";
import type { StackFileOptions } from "../stack/stackFile";
import { keepRecord } from "./keepRecord";

/** Removes the record of updates after `down`: nothing is applied that it could speak of. */
export async function forgetUpdates(options: StackFileOptions): Promise<void> {
  try {
    const [keeper] = plannedStack(options).machines;
    if (keeper !== undefined) await keepRecord(keeper, {});
  } catch (error) {
    if (error instanceof Failed) say(error.message);
    // `down` works without a stack file that can be planned.
    else if (!(error instanceof FaultyInput || error instanceof UnreadableInput)) throw error;
  }
}
