import { realpathSync } from "node:fs";
import { homeFolder } from "@local-serving/base/faults/home";
import { jsonIn } from "@local-serving/base/faults/json";
import { keptText } from "@local-serving/base/faults/textFile";
import { isHere } from "@local-serving/machines/address";
import { homeOn, onMachine } from "@local-serving/machines/home";
import * as z from "zod";
import { readKnownStarts } from "../catalogue";
import { appliedPlanPath } from "../plan";
import { type Evidence, PLAN_VERSION } from "../planned";
import { serveSchema } from "../planned/schema";
import type { StackSettings } from "../settings";
import { readFolders } from "./readFolders";
import { readModels } from "./readModels";

/**
 * Reads what every plan of a stack is based on: the operator's home, the configs of the stack's
 * models, and what was applied.
 */
export function readEvidence(settings: StackSettings, project: string): Evidence {
  const home = operatorHome();
  return {
    home,
    models: readModels(settings, project, home),
    starts: readKnownStarts(),
    ...readFolders(settings, home),
    ...readApplied(settings, home),
  };
}

/**
 * Home of whoever runs this, by its real path: a host file is never written through a symbolic
 * link.
 */
export function operatorHome(): string {
  const home = homeFolder();
  try {
    return realpathSync(home);
  } catch {
    return home;
  }
}

/**
 * The part of an applied plan that a new plan reads. It has been the same in every version so far.
 */
const served = z.object({
  version: z.number().max(PLAN_VERSION).optional(),
  machine: z.object({ serve: z.array(serveSchema) }),
});

/**
 * The windows and shares that were applied last, from the plan that `up` leaves on the machine. Only
 * a machine that this program runs on is read; where there is no such plan, or none that can be
 * read, nothing is known.
 */
export function readApplied(settings: StackSettings, home: string) {
  const servers = Object.entries(settings.machines).flatMap(([name, machine]) => {
    if (!isHere(machine)) return [];
    const path = appliedPlanPath(
      name,
      onMachine(machine.stateDirectory, { home: homeOn(machine, { home }) }),
    );
    const applied = served.safeParse(jsonIn(keptText(path) ?? ""));
    const known = (applied.data?.machine.serve ?? []).filter(
      ({ key, model }) => machine.inferenceServers[key]?.model.id === model,
    );
    return known.length === 0 ? [] : [[name, known] as const];
  });
  const figures = (of: (server: (typeof servers)[number][1][number]) => number) =>
    Object.fromEntries(
      servers.map(([name, known]) => [
        name,
        Object.fromEntries(known.map((server) => [server.key, of(server)])),
      ]),
    );
  return {
    appliedWindows: figures(({ maxModelLen }) => maxModelLen),
    appliedShares: figures(({ gpuMemoryUtilization }) => gpuMemoryUtilization),
  } satisfies Partial<Evidence>;
}
