import { defined } from "../../faults/defined";
import type { MachinePlan, Plan } from "../plan/types";
import { elsewhere, HERE, isHere } from "../planned/reach";
import { type Locate, placed } from "../settings/places";
import type { GateFinding } from "./gate";
import { judgeEngines, judgeMachine } from "./judgeMachine";
import { readMachine } from "./readMachine";
import { replacedFiles } from "./replacedFiles";
import { type DockerFacts, refused } from "./types";

/**
 * Reads every machine of the plan and returns what speaks against an update. A preview judges files alone: the rest may
 * change before the update. A machine that is another computer is refused (a plan warns of it), and nothing is read for it.
 * `locate` finds the lines of the stack file.
 */
export async function preflight(
  { machines }: Plan,
  preview: boolean,
  locate: Locate,
): Promise<GateFinding[]> {
  const dockers: { name: string; docker: DockerFacts }[] = [];
  const judged = async (machine: MachinePlan) => {
    if (!isHere(machine))
      return preview ? [] : [refused(elsewhere(machine.name, machine), "dockerHost", HERE)];
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
  return [...findings.flat(), ...judgeEngines(dockers)].map(
    ({ machine, verdict, message, setting, value }) => ({
      name: `preflight of ${machine}`,
      verdict,
      ...placed(
        message,
        setting === undefined
          ? undefined
          : defined({ path: ["machines", machine, ...setting.split(".")], value }),
        locate,
      ),
    }),
  );
}
