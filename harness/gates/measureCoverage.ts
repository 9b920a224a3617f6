import { delimiter, join } from "node:path";
import { interruption } from "../../commandLine/interrupt";
import { isExecutable } from "../../commandLine/run";
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
  /** Finds the host's timeout mechanism; exchanged in tests. */
  readonly findTimeout?: FindTimeout;
  /** Supervisor that runs the command when there is already one. */
  readonly supervisor?: Supervisor;
}

/** Runs the coverage command and reads its artifact: measured coverage, or why it doesn't count. */
export async function measureCoverage(setting: MeasureSetting): Promise<Coverage | { readonly fault: string }> {
  const { coverage, root, env, ledger, interrupt, supervisor } = setting;
  const timeout = (setting.findTimeout ?? findHostTimeout)();
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

/** Names of the host's timeout mechanism: coreutils' own, and as it is called on macOS. */
const NAMES = ["timeout", "gtimeout"] as const;

export type FindTimeout = () => string | undefined;

/**
 * The file of the host's timeout mechanism, looked up in PATH. A coverage command runs under it, as a second bound that
 * holds even when this program and its supervisor are both killed; so a host without one refuses coverage.
 */
export function findHostTimeout(path: string | undefined = process.env.PATH): string | undefined {
  for (const directory of (path ?? "").split(delimiter)) {
    if (directory === "") continue;
    for (const name of NAMES) {
      const file = join(directory, name);
      if (isExecutable(file)) return file;
    }
  }
  return undefined;
}

export const NO_HOST_TIMEOUT =
  "this host has no timeout mechanism (`timeout`, or `gtimeout` on macOS, in PATH), so coverage can't be bounded. Install coreutils.";
