import { dirname } from "node:path";
import { isHere } from "@local-serving/machines/address";
import { filesOf } from "@local-serving/machines/files";
import { appliedMachines } from "../../components/evidence";
import type { MachinePlan } from "../../components/plan";
import { readOtherPlans, tellOtherStack } from "../../components/preflight";
import type { Judged } from "../../policies/judge";
import { ownOf } from "../engine/ownOf";
import type { StackFileOptions } from "../stack/stackFile";

/**
 * What the preflight of `up` would refuse, since another stack is applied on this computer under
 * the same names. It is told by the plans that `up` left here, so that no engine is asked. A stack
 * file by itself may be of another computer.
 */
export async function otherStacks(
  machines: readonly MachinePlan[],
  options: StackFileOptions,
): Promise<Judged[]> {
  if (options.file !== undefined) return [];
  const own = ownOf(machines, options);
  const here = machines.filter(isHere);
  const applied = (await Promise.all(here.map(appliedBeside))).flat();
  if (applied.every((name) => !own.isNew && own.machines.includes(name))) return [];
  const found = here.map(async (machine) =>
    (await readOtherPlans(machine, own)).map((other): Judged => {
      const { cause, remedy } = tellOtherStack(machine.name, other);
      return {
        name: "preflight",
        level: "mandatory",
        resource: machine.name,
        verdict: "refused",
        message: `${cause} ${remedy}`,
      };
    }),
  );
  return (await Promise.all(found)).flat();
}

/** The machines whose plans are applied where this one's is kept. */
async function appliedBeside(machine: MachinePlan): Promise<string[]> {
  const record = machine.files.find(({ role }) => role === "applied-plan");
  if (record === undefined) return [];
  return appliedMachines(filesOf(machine), dirname(dirname(record.path)));
}
