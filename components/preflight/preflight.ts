import type { MachinePlan, Plan } from "../plan/types";
import { elsewhere, isHere } from "../planned/reach";
import type { GateFinding } from "./gate";
import { judgeMachine } from "./judgeMachine";
import { readMachine } from "./readMachine";
import { replacedFiles } from "./replacedFiles";

/**
 * Reads every machine of the plan and returns what speaks against an update. A preview judges files alone: the rest may
 * change before the update. A machine that is another computer is refused (a plan warns of it), and nothing is read for it.
 */
export async function preflight({ machines }: Plan, preview: boolean): Promise<GateFinding[]> {
  const judged = async (machine: MachinePlan) => {
    if (!isHere(machine))
      return preview ? [] : [{ verdict: "refused" as const, message: elsewhere(machine.name, machine) }];
    return [
      ...(preview ? [] : judgeMachine(machine, await readMachine(machine))),
      ...(await replacedFiles(machine)),
    ];
  };
  const findings = await Promise.all(
    machines.map(async (machine) =>
      (await judged(machine)).map((finding) => ({ ...finding, name: `preflight of ${machine.name}` })),
    ),
  );
  return findings.flat();
}
