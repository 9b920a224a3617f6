import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { defined } from "../../faults/defined";
import { failureOf, runBounded } from "../app/boundedCommand";
import { shell } from "../app/commandEnvironment";
import type { Ledger } from "../app/ledger";
import { type AppRun, withApp } from "../app/lifecycle";
import type { AppContract } from "../app/readiness";
import { CommandNotStarted } from "../app/supervisor";
import type { AutomationContract } from "../automation/resolve";
import type { GateResult } from "./coverageGate";
import { removeStaleArtifact } from "./freshArtifact";
import { inThrowawayWorktree, type ThrowawayWorktree, WorktreeFailure } from "./throwawayWorktree";
import { visualFailures } from "./visualVerdict";

export type VisualContract = NonNullable<AutomationContract["verification"]["visual"]>;

export interface VisualSetting {
  readonly visual: VisualContract;
  readonly app: AppContract;
  /** The project: the app runs here, the check in a checkout of its HEAD. */
  readonly project: string;
  readonly env: Readonly<Record<string, string>>;
  /** Prefix of the variables that tell the check where the app is. */
  readonly prefix: string;
  readonly ledger: Ledger;
  readonly interrupt: AbortSignal;
}

/** Outcome of the visual gate, with what became of the app. */
export interface VisualGateResult extends GateResult {
  /** Commit that was checked; absent when no checkout was made. */
  readonly commit?: string;
  readonly app: Omit<AppRun<unknown>, "result">;
}

/**
 * Runs the UI check against the running app, in a throwaway checkout of HEAD, and judges its result. The check finds
 * the browser's address in `<prefix>VISUAL_URL` and the app's in `<prefix>APP_URL`.
 */
export async function visualGate(setting: VisualSetting): Promise<VisualGateResult> {
  const { visual, ledger } = setting;
  const run = await withApp({ ...setting, addresses: [visual.url] }, (address, signal) =>
    check(setting, address, signal),
  );
  const { result, ...app } = run;
  const failures = [...(run.failure === undefined ? [] : [run.failure]), ...(result?.failures ?? [])];
  const outcome: VisualGateResult = {
    verdict: failures.length === 0 && result !== undefined ? "pass" : "fail",
    failures,
    ...defined({ commit: result?.commit }),
    app,
  };
  const { app: _, ...entry } = outcome;
  ledger.record({ event: "visual gate", command: visual.command, ...entry });
  return outcome;
}

interface Checked {
  readonly failures: readonly string[];
  readonly commit?: string;
}

async function check(setting: VisualSetting, address: string, interrupt: AbortSignal): Promise<Checked> {
  const { project, env, prefix, visual, ledger } = setting;
  const log = ledger.openLog("visual.log");
  const streams = { stdout: log.descriptor, stderr: log.descriptor };
  const variables = { [`${prefix}VISUAL_URL`]: visual.url, [`${prefix}APP_URL`]: address };
  try {
    return await inThrowawayWorktree(
      { repository: project, ref: "HEAD", env, streams, jobs: ledger.jobs, interrupt },
      (worktree) => checkIn(worktree, setting, { ...env, ...variables }, streams, log.file, interrupt),
    );
  } catch (error) {
    if (!(error instanceof WorktreeFailure || error instanceof CommandNotStarted)) throw error;
    return { failures: [error.message] };
  } finally {
    log.close();
  }
}

async function checkIn(
  { directory, commit, supervisor }: ThrowawayWorktree,
  { visual, ledger }: VisualSetting,
  env: Readonly<Record<string, string>>,
  streams: { stdout: number; stderr: number },
  logFile: string,
  interrupt: AbortSignal,
): Promise<Checked> {
  const artifact = removeStaleArtifact(directory, visual.artifact);
  if ("fault" in artifact) return { failures: [artifact.fault], commit };
  const end = await runBounded(
    {
      argv: shell(visual.command),
      cwd: directory,
      env,
      timeoutSec: visual.timeout_sec,
      streams,
      jobs: ledger.jobs,
      interrupt,
    },
    supervisor,
  );
  if (interrupt.aborted) return { failures: [String(interrupt.reason)], commit };
  const failure = failureOf(end, visual.timeout_sec);
  if (failure !== undefined)
    return { failures: [`the visual command ${failure}; its output is in ${logFile}`], commit };
  const read = artifact.read();
  if ("fault" in read) return { failures: [read.fault], commit };
  // The checkout goes; the result stays as evidence.
  writeFileSync(join(ledger.directory, "visual-result.json"), read.text);
  return { failures: visualFailures(read.text, visual.skip_is_failure), commit };
}
