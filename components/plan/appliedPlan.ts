import type { FileRole, PlannedFile } from "../planned/file";
import type { MachinePlan } from "./types";

/** Name of the file below the machine's state directory. */
const FILE = "applied-plan.json";

/**
 * What was applied, kept on the machine: so `verify`, `doctor` and a reader can tell an edited stack file from a changed
 * machine. The plan holds names of secrets and no value, and so does this.
 */
export function appliedPlan(machine: MachinePlan, stateDirectory: string): PlannedFile<FileRole> {
  const about = "What local-serving applied to this machine. Written by `up`, removed by `down`.";
  return {
    role: "applied-plan",
    path: appliedPlanPath(machine.name, stateDirectory),
    mode: "0600",
    text: `${JSON.stringify({ about, machine: sorted(machine) }, null, 2)}\n`,
  };
}

/** Where a machine's applied plan is. */
export function appliedPlanPath(machine: string, stateDirectory: string): string {
  return `${stateDirectory}/${machine}/${FILE}`;
}

/** The same data with the keys of every map in order, so that the text depends on nothing else. Lists keep theirs. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}
