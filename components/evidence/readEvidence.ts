import { existsSync, realpathSync } from "node:fs";
import { z } from "zod";
import { UnreadableInput } from "../../faults/fault";
import { homeFolder } from "../../faults/home";
import { readJsonFile } from "../../faults/jsonDocument";
import { appliedPlanPath } from "../plan/appliedPlan";
import { type Evidence, homeOn, onMachine } from "../planned/evidence";
import { isHere } from "../planned/reach";
import type { StackSettings } from "../settings/stackSettings";
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

/** What counts of an applied plan. Other versions of this project may have written more, or less. */
const applied = z.object({
  machine: z.object({
    serve: z.array(z.object({ key: z.string(), model: z.string(), maxModelLen: z.int().positive() })),
  }),
});

/**
 * The windows that were applied last, from the plan that `up` leaves on the machine. Only a machine that this program runs on
 * is read; where there is no such plan, or none that can be read, nothing is known.
 */
export function readAppliedWindows(settings: StackSettings, home: string): NonNullable<Evidence["appliedWindows"]> {
  return Object.fromEntries(
    Object.entries(settings.machines).flatMap(([name, machine]) => {
      if (!isHere(machine)) return [];
      const servers = appliedServers(
        appliedPlanPath(name, onMachine(machine.stateDirectory, { home: homeOn(machine, { home }) })),
      );
      const windows = servers
        .filter(({ key, model }) => machine.inferenceServers[key]?.model.id === model)
        .map(({ key, maxModelLen }) => [key, maxModelLen] as const);
      return windows.length === 0 ? [] : [[name, Object.fromEntries(windows)]];
    }),
  );
}

function appliedServers(file: string) {
  if (!existsSync(file)) return [];
  try {
    const parsed = applied.safeParse(readJsonFile(file).value);
    return parsed.success ? parsed.data.machine.serve : [];
  } catch (error) {
    if (error instanceof UnreadableInput) return [];
    throw error;
  }
}
