import type { MachinePlan, Plan } from "../plan/types";
import { elsewhere, isHere } from "../planned/reach";
import type { GateFinding } from "./gate";
import { judgeEngines, judgeMachine } from "./judgeMachine";
import { readMachine } from "./readMachine";
import { replacedFiles } from "./replacedFiles";
import type { DockerFacts } from "./types";

/**
 * Reads every machine of the plan and returns what speaks against an update. A preview judges files alone: the rest may
 * change before the update. A machine that is another computer is refused (a plan warns of it), and nothing is read for it.
 */
export async function preflight({ machines }: Plan, preview: boolean): Promise<GateFinding[]> {
  const dockers: { name: string; docker: DockerFacts }[] = [];
  const judged = async (machine: MachinePlan) => {
    if (!isHere(machine))
      return preview ? [] : [{ verdict: "refused" as const, message: elsewhere(machine.name, machine) }];
    if (preview) return replacedFiles(machine);
    const facts = await readMachine(machine);
    dockers.push({ name: machine.name, docker: facts.docker });
    return [...judgeMachine(machine, facts), ...(await replacedFiles(machine))];
  };
  const findings = await Promise.all(
    machines.map(async (machine) =>
      (await judged(machine)).map((finding) => ({ ...finding, machine: machine.name })),
    ),
  );
  return [...findings.flat(), ...judgeEngines(dockers)].map(({ machine, ...finding }) => ({
    ...finding,
    name: `preflight of ${machine}`,
  }));
}
