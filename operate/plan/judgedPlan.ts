import { join } from "node:path";
import { declaredResources } from "../../components/machine/declaredResources";
import { totalFinding } from "../../components/memory/machineMemory";
import { plan } from "../../components/plan/plan";
import type { Evidence } from "../../components/planned/evidence";
import { type Locate, placed, placeOf } from "../../components/settings/places";
import type { StackSettings } from "../../components/settings/stackSettings";
import { type Judged, judge } from "../../policies/judge";
import { LEVELS_FILE, readLevels } from "../../policies/levels";
import { projectFolder } from "../stack/stackFile";

/** A plan, and what every policy says of it by the levels of a file. Throws `FaultyInput` as `plan` does. */
export function judgedPlan(settings: StackSettings, known: Evidence, levels = join(projectFolder(), LEVELS_FILE)) {
  const locate: Locate = (path) => placeOf(settings, path);
  const planned = plan(settings, known);
  const judged = judge(declaredResources(planned), readLevels(levels), locate);
  return { planned, policies: [...judged, ...wrongTotals(settings, known, locate)] };
}

/** What the preflight of `up` would refuse of a declared total, by the meminfo that was given. */
function wrongTotals({ machines }: StackSettings, { meminfo = {} }: Evidence, locate: Locate): Judged[] {
  return Object.entries(machines).flatMap(([resource, { totalGiB }]) => {
    const machine = meminfo[resource];
    const found = machine && totalFinding(totalGiB, machine.totalGiB);
    if (found?.verdict !== "refused") return [];
    const { verdict, message, setting, value } = found;
    const change = { path: ["machines", resource, setting], value };
    return [{ name: "preflight", level: "mandatory", resource, verdict, ...placed(message, change, locate) }];
  });
}
