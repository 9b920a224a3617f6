import type { CapturedBaseline } from "../automation/frozenContract";
import type { Preset } from "../automation/verificationSchema";
import type { Coverage } from "./coverageReport";

/** How far two percentages may differ by rounding alone, in percentage points: far below what any report shows. */
const ROUNDING = 1e-9;

/** Faults of measured coverage against its contract, one sentence each; none means that the gate passes. */
export function coverageFailures(
  floors: Preset,
  measured: Coverage,
  baseline: CapturedBaseline | null,
): string[] {
  return [
    ...metricFailures("line", floors.min_line_pct, measured.line_pct, floors, baseline?.line_pct),
    ...metricFailures("branch", floors.min_branch_pct, measured.branch_pct, floors, baseline?.branch_pct),
  ];
}

/** Only a metric with a floor is judged, for its floor and for regression alike. */
function metricFailures(
  name: string,
  floor: number | undefined,
  value: number | null,
  { max_regression_pct: allowed }: Preset,
  before: number | null | undefined,
): string[] {
  if (floor === undefined) return [];
  if (value === null)
    return [`there is a floor of ${floor} % under ${name} coverage, and the artifact has none`];
  const failures: string[] = [];
  if (value < floor - ROUNDING) {
    failures.push(`${name} coverage is ${shown(value)} %, below its floor of ${floor} %`);
  }
  if (before === undefined || allowed === undefined) return failures;
  if (before === null) {
    failures.push(`the baseline has no ${name} coverage, so a regression can't be told`);
  } else if (before - value > allowed + ROUNDING) {
    failures.push(
      `${name} coverage fell by ${shown(before - value)} percentage points, from ${shown(before)} % to ${shown(value)} %; ${allowed} are allowed`,
    );
  }
  return failures;
}

/** A percentage with two digits after the point at most, cut and not rounded, so that 79.999 does not read as 80. */
function shown(value: number): string {
  return String(Math.floor(value * 100 + ROUNDING) / 100);
}
