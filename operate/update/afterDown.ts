import { Failed } from "../../commandLine/exit";
import { say } from "../../commandLine/output";
import { orInputFault } from "../../faults/fault";
import { sayCopiesLeft } from "../copies/copiesLeft";
import { readStack } from "../stack/readStack";
import { type StackFileOptions, stackFile } from "../stack/stackFile";
import { keepRecord } from "./keepRecord";

/** Says what `down` leaves, and removes the record of updates: nothing is applied that it speaks of. */
export async function afterDown(options: StackFileOptions): Promise<void> {
  // `down` works without a stack file that can be planned.
  const planned = orInputFault(() => readStack(stackFile(options)).plan);
  if (planned instanceof Error) return;
  const { machines } = planned;
  await sayCopiesLeft(machines);
  const [keeper] = machines;
  if (keeper === undefined) return;
  await keepRecord(keeper, {}).catch((error: unknown) => {
    if (error instanceof Failed) return say(error.message);
    throw error;
  });
}
