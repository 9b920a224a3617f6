import { interruption } from "@local-serving/base/commandLine/interrupt";
import { programOnPath } from "@local-serving/base/commandLine/run";
import { shell } from "../app/commandEnvironment";
import type { RunSetting } from "../app/ledger";
import type { Supervisor } from "../app/supervisor";
import type { CapturedBaseline } from "../automation/frozenContract";
import type { AutomationContract } from "../automation/resolve";
import type { Preset } from "../automation/schema";
import { type Coverage, readCoverage, UnreadableCoverage } from "./coverageReport";
import { artifactOf } from "./freshArtifact";

/** Outcome of a gate; it passes exactly when there are no failures. */
export type GateResult = {
  readonly verdict: "pass" | "fail";
  readonly failures: readonly string[];
  /** What was judged, with its figures. */
  readonly judged: readonly string[];
};

/** Measures coverage and judges it by the contract's floors and the captured baseline. */
export async function coverageGate(setting: CoverageSetting, baseline: CapturedBaseline | null) {
  const { coverage, ledger, freezing } = setting;
  const lacksBaseline = coverage.baseline === "admission" && baseline === null;
  const measured = lacksBaseline ? { fault: noBaseline(freezing) } : await measureCoverage(setting);
  const failures =
    "fault" in measured ? [measured.fault] : coverageFailures(coverage, measured, baseline);
  const verdict = failures.length === 0 ? "pass" : "fail";
  const judged = "fault" in measured ? [] : figuresText(coverage, measured);
  const outcome: GateResult = { verdict, failures, judged };
  // `null` when nothing could be measured.
  const result = { ...outcome, measured: "fault" in measured ? null : measured, baseline };
  ledger.record({ event: "coverage gate", command: coverage.command, ...result });
  return result;
}

interface CoverageSetting extends MeasureSetting {
  /** The command that freezes the contract in `CONTRACT_FILE`. */
  readonly freezing: string;
}

/** Where the commands that we name put a contract. */
export const CONTRACT_FILE = "contract.json";

const noBaseline = (freezing: string): string =>
  `baseline \`admission\` needs a captured baseline: freeze the contract first with \`${freezing}\`, then give \`--contract ${CONTRACT_FILE}\` instead of --config`;

/**
 * How far two percentages may differ by rounding alone, in percentage points: far below what any
 * report shows.
 */
const ROUNDING = 1e-9;

/** What is measured: its key in reports and baselines, and that of its floor. */
export const METRICS = [
  { name: "line", pct: "line_pct", floorKey: "min_line_pct" },
  { name: "branch", pct: "branch_pct", floorKey: "min_branch_pct" },
] as const;

/**
 * Faults of measured coverage against its contract, one sentence each; none means that the gate
 * passes. Only a metric with a floor is judged, for its floor and for regression alike.
 */
export function coverageFailures(
  floors: Preset,
  measured: Coverage,
  baseline: CapturedBaseline | null,
): string[] {
  const { max_regression_pct: allowed } = floors;
  return METRICS.flatMap(({ name, pct, floorKey }) => {
    const [floor, value, before] = [floors[floorKey], measured[pct], baseline?.[pct]];
    if (floor === undefined) return [];
    if (value === null)
      return [`${floor} % ${name} coverage is required, and the artifact has none`];
    const failures =
      value < floor - ROUNDING
        ? [`${name} coverage is ${shown(value)} %, below its floor of ${floor} %`]
        : [];
    if (before === undefined || allowed === undefined) return failures;
    if (before === null)
      return [...failures, `the baseline has no ${name} coverage, so it can't be compared`];
    if (before - value <= allowed + ROUNDING) return failures;
    const fell = `${name} coverage fell by ${shown(before - value)} percentage points, from ${shown(before)} % to ${shown(value)} %; ${allowed} are allowed`;
    return [...failures, fell];
  });
}

/** Each metric that has a floor, with what was measured. */
const figuresText = (floors: Preset, measured: Coverage): string[] =>
  METRICS.flatMap(({ name, pct, floorKey }) => {
    const [floor, value] = [floors[floorKey], measured[pct]];
    return floor === undefined || value === null
      ? []
      : [`${name} coverage ${shown(value)} %, floor ${floor} %`];
  });

/**
 * A percentage with two digits after the point at most, cut and not rounded, so that 79.999 does
 * not read as 80.
 */
const shown = (value: number): string => String(Math.floor(value * 100 + ROUNDING) / 100);

type CoverageContract = NonNullable<AutomationContract["verification"]["coverage"]>;

/**
 * Seconds by which the host's own bound comes after ours, so that it only acts when we no longer
 * can.
 */
const HOST_BOUND_MARGIN_SEC = 15;

export interface MeasureSetting extends RunSetting {
  readonly coverage: CoverageContract;
  /** Directory that holds the code to measure. */
  readonly root: string;
  /** Supervisor that runs the command when there is already one. */
  readonly supervisor?: Supervisor;
}

/** Runs the coverage command and reads its artifact: measured coverage, or why it doesn't count. */
export async function measureCoverage(
  setting: MeasureSetting,
): Promise<Coverage | { readonly fault: string }> {
  const { coverage, root, env, ledger, interrupt, supervisor } = setting;
  const timeout = findHostTimeout(env.PATH);
  if (timeout === undefined) return { fault: NO_HOST_TIMEOUT };
  const log = ledger.openLog("coverage.log");
  const hostBound = Math.ceil(coverage.timeout_sec) + HOST_BOUND_MARGIN_SEC;
  const argv = [timeout, "-k", "1", String(hostBound), ...shell(coverage.command)];
  const command = { argv, cwd: root, env, jobs: ledger.jobs, interrupt };
  const read = await artifactOf("coverage", coverage, command, { log, supervisor }).finally(
    log.close,
  );
  if (interrupt.aborted) return { fault: interruption(interrupt) };
  if ("fault" in read) return read;
  try {
    return readCoverage(coverage.parser, read.text);
  } catch (error) {
    if (!(error instanceof UnreadableCoverage)) throw error;
    return { fault: `artifact ${coverage.artifact} ${error.message}` };
  }
}

/**
 * The host's timeout mechanism: coreutils' own, also as it is called on macOS. A coverage command
 * runs under it, as a second bound that holds even when this program and its supervisor are both
 * killed; so a host without one refuses coverage.
 */
export const findHostTimeout = (path?: string) => programOnPath(["timeout", "gtimeout"], path);

export const NO_HOST_TIMEOUT =
  "this host has no timeout mechanism (`timeout`, or `gtimeout` on macOS, in PATH), so coverage can't be bounded. Install coreutils.";
