import type { CapturedBaseline } from "../automation/frozenContract";
import type { Coverage } from "./coverageReport";
import { coverageFailures } from "./coverageVerdict";
import { type MeasureSetting, measureCoverage } from "./measureCoverage";

/** Outcome of a gate; it passes exactly when there are no failures. */
export interface GateResult {
  readonly verdict: "pass" | "fail";
  readonly failures: readonly string[];
}

/** Outcome of the coverage gate. */
export interface CoverageGateResult extends GateResult {
  /** `null` when nothing could be measured. */
  readonly measured: Coverage | null;
  readonly baseline: CapturedBaseline | null;
}

/** Measures coverage and judges it by the contract's floors and the captured baseline. */
export async function coverageGate(
  setting: MeasureSetting,
  baseline: CapturedBaseline | null,
): Promise<CoverageGateResult> {
  const { coverage, ledger } = setting;
  const result = await judge(setting, baseline);
  ledger.record({ event: "coverage gate", command: coverage.command, ...result });
  return result;
}

async function judge(
  setting: MeasureSetting,
  baseline: CapturedBaseline | null,
): Promise<CoverageGateResult> {
  if (setting.coverage.baseline === "admission" && baseline === null) {
    const failure =
      "baseline `admission` needs a captured baseline: freeze the contract first (serving config freeze automation) and pass it with --contract";
    return { verdict: "fail", failures: [failure], measured: null, baseline };
  }
  const measured = await measureCoverage(setting);
  if ("fault" in measured) return { verdict: "fail", failures: [measured.fault], measured: null, baseline };
  const failures = coverageFailures(setting.coverage, measured, baseline);
  return { verdict: failures.length === 0 ? "pass" : "fail", failures, measured, baseline };
}
