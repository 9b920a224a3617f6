import type { Plan } from "../plan/types";
import { judgeMachine, type ReadUtilization } from "./judgeMachine";
import { readMachine } from "./readMachine";
import { replacedFiles } from "./replacedFiles";

/** Reads every machine of the plan and says what stands against an update. Nothing is changed by it. */
export async function preflight(plan: Plan, readUtilization: ReadUtilization) {
  const findings = await Promise.all(
    plan.machines.map(async (machine) =>
      judgeMachine(machine, await readMachine(machine), readUtilization).map((finding) => ({
        ...finding,
        name: `preflight of ${machine.name}`,
      })),
    ),
  );
  return [...findings.flat(), ...(await replacedFiles(plan))];
}
