import { Failed } from "../../commandLine/exit";
import { say } from "../../commandLine/output";
import { FaultyInput, UnreadableInput } from "../../faults/fault";
import { plannedStack } from "../stack/readStack";
import type { StackFileOptions } from "../stack/stackFile";
import { allData, type DataOn } from "./dataOf";
import { listCopies } from "./listCopies";

/** Says where copies of data lie that `down` leaves; nothing of a machine that can't be asked. */
export async function sayCopiesLeft(options: StackFileOptions): Promise<void> {
  for (const { machine, copies } of dataIn(options)) {
    const { service, folder, volume } = copies;
    const { found } = await listCopies(copies).catch((error: unknown) => {
      if (error instanceof Failed) return { found: [] };
      throw error;
    });
    const many = found.length === 1 ? "a copy" : `${found.length} copies`;
    if (found.length > 0)
      say(
        `The data of ${service} stay in the volume ${volume}, and ${many} of them in ${folder} on ${machine.name}.`,
      );
  }
}

/** `down` works without a stack file that can be planned. */
function dataIn(options: StackFileOptions): DataOn[] {
  try {
    return allData(plannedStack(options).machines);
  } catch (error) {
    if (error instanceof FaultyInput || error instanceof UnreadableInput) return [];
    throw error;
  }
}
