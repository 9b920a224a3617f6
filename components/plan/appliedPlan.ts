import { inKeyOrder } from "@local-serving/base/faults/json";
import { type FileRole, PLAN_VERSION, type PlannedFile } from "../planned";
import type { MachinePlan } from "./types";

const ABOUT = "What local-serving applied to this machine. Written by `up`, removed by `down`.";

/** Name of the file below the machine's state directory. */
const FILE = "applied-plan.json";

/**
 * Keeps what was applied on the machine, so that `verify`, `doctor` and a reader can tell an edited
 * stack file from a changed machine. Like the plan, it holds names of secrets, never values.
 */
export function appliedPlan(machine: MachinePlan, stateDirectory: string): PlannedFile<FileRole> {
  let written: string | undefined;
  return {
    role: "applied-plan",
    resource: `${machine.name}-applied-plan`,
    partOf: machine.name,
    purpose: ABOUT,
    path: appliedPlanPath(machine.name, stateDirectory),
    mode: "0600",
    // Writing it takes a tenth of a plan, and few who read a plan look into this file.
    get text() {
      written ??= textOf(machine);
      return written;
    },
  };
}

const textOf = (machine: MachinePlan): string =>
  `${JSON.stringify({ about: ABOUT, version: PLAN_VERSION, machine: inKeyOrder(machine) }, null, 2)}\n`;

/** Where a machine's applied plan is. */
export function appliedPlanPath(machine: string, stateDirectory: string): string {
  return `${stateDirectory}/${machine}/${FILE}`;
}
