import { join } from "node:path";
import { totalFinding } from "../../components/memory";
import { plan } from "../../components/plan";
import type { Evidence } from "../../components/planned";
import { declaredResources } from "../../components/program/machine";
import { placed, placeOf, type StackSettings } from "../../components/settings";
import { type Judged, judge } from "../../policies/judge";
import { LEVELS_FILE, readLevels } from "../../policies/levels";
import type { PlannedStack } from "../stack/readStack";
import { projectOrProgram } from "../stack/stackFile";

/**
 * A plan, and what every policy says of it by the levels of a file. Throws `FaultyInput` as `plan`
 * does.
 */
export function judgedPlan(
  settings: StackSettings,
  known: Evidence,
  levels = join(projectOrProgram(), LEVELS_FILE),
) {
  const planned = plan(settings, known);
  const judged = policiesOn({ settings, plan: planned }, levels);
  return { planned, policies: [...judged, ...wrongTotals(settings, known)] };
}

/** What every policy says of a planned stack, by the levels of a file. */
export function policiesOn(
  { settings, plan: planned }: Pick<PlannedStack, "settings" | "plan">,
  levels = join(projectOrProgram(), LEVELS_FILE),
): Judged[] {
  return judge(declaredResources(planned), readLevels(levels), (path) => placeOf(settings, path));
}

/** What the preflight of `up` would refuse of a declared total, by the meminfo that was given. */
function wrongTotals(settings: StackSettings, { meminfo = {} }: Evidence): Judged[] {
  return Object.entries(settings.machines).flatMap(([resource, { totalGiB }]) => {
    const machine = meminfo[resource];
    const found = machine && totalFinding(totalGiB, machine.totalGiB);
    if (found?.verdict !== "refused") return [];
    const { verdict, message, setting, value } = found;
    const change = { path: ["machines", resource, setting], value };
    return [
      {
        name: "preflight",
        level: "mandatory",
        resource,
        verdict,
        ...placed(message, change, (path) => placeOf(settings, path)),
      },
    ];
  });
}
