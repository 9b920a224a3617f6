import { readBootId } from "@local-serving/machines/bootId";
import { filesOf } from "@local-serving/machines/files";
import type { MachinePlan } from "../plan";

/** Reads the boot id of each machine's kernel, here or over ssh; what doesn't answer is left out. */
export async function readBootIds(
  machines: readonly Pick<MachinePlan, "name" | "dockerHost">[],
): Promise<Map<string, string>> {
  const read = machines.map(async (machine) => {
    const bootId = await readBootId(filesOf(machine));
    return bootId === undefined ? [] : [[machine.name, bootId] as const];
  });
  return new Map((await Promise.all(read)).flat());
}
