import { interruption } from "../../commandLine/interrupt";
import { programOnPath } from "../../commandLine/run";
import { shell } from "../app/commandEnvironment";
import type { Ledger } from "../app/ledger";
import { CommandNotStarted, type Supervisor } from "../app/supervisor";
import type { AutomationContract } from "../automation/resolve";
import { type Coverage, readCoverage, UnreadableCoverage } from "./coverageReport";
import { artifactOf } from "./freshArtifact";

export type CoverageContract = NonNullable<AutomationContract["verification"]["coverage"]>;

/** Seconds by which the host's own bound comes after ours, so that it only acts when we no longer can. */
const HOST_BOUND_MARGIN_SEC = 15;

export interface MeasureSetting {
  readonly coverage: CoverageContract;
  /** Directory that holds the code to measure. */
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  readonly ledger: Ledger;
  readonly interrupt: AbortSignal;
  /** Supervisor that runs the command when there is already one. */
  readonly supervisor?: Supervisor;
}

/** Runs the coverage command and reads its artifact: measured coverage, or why it doesn't count. */
export async function measureCoverage(setting: MeasureSetting): Promise<Coverage | { readonly fault: string }> {
  const { coverage, root, env, ledger, interrupt, supervisor } = setting;
  const timeout = findHostTimeout(env.PATH);
  if (timeout === undefined) return { fault: NO_HOST_TIMEOUT };
  const log = ledger.openLog("coverage.log");
  const hostBound = Math.ceil(coverage.timeout_sec) + HOST_BOUND_MARGIN_SEC;
  const argv = [timeout, "-k", "1", String(hostBound), ...shell(coverage.command)];
  const command = { argv, cwd: root, env, jobs: ledger.jobs, interrupt };
  let read: Awaited<ReturnType<typeof artifactOf>>;
  try {
    read = await artifactOf("coverage", coverage, command, log, supervisor);
  } catch (error) {
    if (!(error instanceof CommandNotStarted)) throw error;
    return { fault: `the coverage command could not be started: ${error.message}` };
  } finally {
    log.close();
  }
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
 * The host's timeout mechanism: coreutils' own, also as it is called on macOS. A coverage command runs under it, as a second
 * bound that holds even when this program and its supervisor are both killed; so a host without one refuses coverage.
 */
export const findHostTimeout = (path?: string) => programOnPath(["timeout", "gtimeout"], path);

export const NO_HOST_TIMEOUT =
  "this host has no timeout mechanism (`timeout`, or `gtimeout` on macOS, in PATH), so coverage can't be bounded. Install coreutils.";
