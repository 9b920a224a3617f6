import { Failed } from "@local-serving/base/commandLine/exit";
import { say } from "@local-serving/base/commandLine/output";
import type { MachinePlan } from "../../components/plan";
import { allData } from "./dataOf";
import { listCopies } from "./listCopies";

/** Says where copies of data lie that `down` leaves; nothing of a machine that can't be asked. */
export async function sayCopiesLeft(machines: readonly MachinePlan[]): Promise<void> {
  for (const { machine, copies } of allData(machines)) {
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
