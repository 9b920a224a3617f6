import type { CapturedBaseline } from "../automation/frozenContract";
import type { Preset } from "../automation/schema";
import type { Coverage } from "./coverageReport";
import { type MeasureSetting, measureCoverage } from "./measureCoverage";

/** Outcome of a gate; it passes exactly when there are no failures. */
export type GateResult = { readonly verdict: "pass" | "fail"; readonly failures: readonly string[] };

/** Measures coverage and judges it by the contract's floors and the captured baseline. */
export async function coverageGate(setting: MeasureSetting, baseline: CapturedBaseline | null) {
  const { coverage, ledger } = setting;
  const lacksBaseline = coverage.baseline === "admission" && baseline === null;
  const measured = lacksBaseline ? { fault: NO_BASELINE } : await measureCoverage(setting);
  const failures = "fault" in measured ? [measured.fault] : coverageFailures(coverage, measured, baseline);
  const outcome: GateResult = { verdict: failures.length === 0 ? "pass" : "fail", failures };
  // `null` when nothing could be measured.
  const result = { ...outcome, measured: "fault" in measured ? null : measured, baseline };
  ledger.record({ event: "coverage gate", command: coverage.command, ...result });
  return result;
}

const NO_BASELINE =
  "baseline `admission` needs a captured baseline: freeze the contract first (serving config freeze automation) and pass it with --contract";

/** How far two percentages may differ by rounding alone, in percentage points: far below what any report shows. */
const ROUNDING = 1e-9;

/** Faults of measured coverage against its contract, one sentence each; none means that the gate passes. */
export function coverageFailures(floors: Preset, measured: Coverage, baseline: CapturedBaseline | null): string[] {
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
  if (value === null) return [`there is a floor of ${floor} % under ${name} coverage, and the artifact has none`];
  const below = `${name} coverage is ${shown(value)} %, below its floor of ${floor} %`;
  const failures = value < floor - ROUNDING ? [below] : [];
  if (before === undefined || allowed === undefined) return failures;
  if (before === null) return [...failures, `the baseline has no ${name} coverage, so it can't be compared`];
  const fell = `${name} coverage fell by ${shown(before - value)} percentage points, from ${shown(before)} % to ${shown(value)} %; ${allowed} are allowed`;
  return before - value > allowed + ROUNDING ? [...failures, fell] : failures;
}

/** A percentage with two digits after the point at most, cut and not rounded, so that 79.999 does not read as 80. */
const shown = (value: number): string => String(Math.floor(value * 100 + ROUNDING) / 100);
