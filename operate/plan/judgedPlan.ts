import { join } from "node:path";
import { declaredResources } from "../../components/machine";
import { totalFinding } from "../../components/memory";
import { plan } from "../../components/plan";
import type { Evidence } from "../../components/planned";
import type { StackSettings } from "../../components/settings";
import { placed, placeOf } from "../../components/settings";
import { type Judged, judge } from "../../policies/judge";
import { LEVELS_FILE, readLevels } from "../../policies/levels";
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
  const locate = (path: readonly string[]) => placeOf(settings, path);
  const planned = plan(settings, known);
  const judged = judge(declaredResources(planned), readLevels(levels), locate);
  return { planned, policies: [...judged, ...wrongTotals(settings, known, locate)] };
}

/** What the preflight of `up` would refuse of a declared total, by the meminfo that was given. */
function wrongTotals(
  { machines }: StackSettings,
  { meminfo = {} }: Evidence,
  locate: Parameters<typeof placed>[2],
): Judged[] {
  return Object.entries(machines).flatMap(([resource, { totalGiB }]) => {
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
        ...placed(message, change, locate),
      },
    ];
  });
}
