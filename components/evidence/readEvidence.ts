import { readFileSync, realpathSync } from "node:fs";
import { attempt } from "../../faults/defined";
import { homeFolder } from "../../faults/home";
import { appliedPlanPath } from "../plan/appliedPlan";
import { type Evidence, homeOn, onMachine } from "../planned/evidence";
import { isHere } from "../planned/reach";
import type { StackSettings } from "../settings/stackSettings";
import { appliedPlanIn } from "./readAppliedPlan";
import { readModels } from "./readModels";

/** What every plan of a stack rests on: the operator's home, the configs of the models that the stack names, what was applied. */
export function readEvidence(settings: StackSettings, project: string): Evidence {
  const home = operatorHome();
  return {
    home,
    models: readModels(settings, project, home),
    appliedWindows: readAppliedWindows(settings, home),
  };
}

/** Home of whoever runs this, by its real path: a host file is never written through a symbolic link. */
export function operatorHome(): string {
  const home = homeFolder();
  try {
    return realpathSync(home);
  } catch {
    return home;
  }
}

/**
 * The windows that were applied last, from the plan that `up` leaves on the machine. Only a machine that this program runs on
 * is read; where there is no such plan, or none that can be read, nothing is known.
 */
export function readAppliedWindows(settings: StackSettings, home: string): NonNullable<Evidence["appliedWindows"]> {
  return Object.fromEntries(
    Object.entries(settings.machines).flatMap(([name, machine]) => {
      if (!isHere(machine)) return [];
      const path = appliedPlanPath(name, onMachine(machine.stateDirectory, { home: homeOn(machine, { home }) }));
      const applied = appliedPlanIn(attempt(() => readFileSync(path, "utf8")) ?? "", path);
      const servers = "plan" in applied ? applied.plan.serve : [];
      const windows = servers
        .filter(({ key, model }) => machine.inferenceServers[key]?.model.id === model)
        .map(({ key, maxModelLen }) => [key, maxModelLen] as const);
      return windows.length === 0 ? [] : [[name, Object.fromEntries(windows)]];
    }),
  );
}
