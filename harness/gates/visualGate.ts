import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { defined } from "../../faults/defined";
import { isRecord, type JsonObject, jsonIn, objectsIn } from "../../faults/json";
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

type VisualContract = NonNullable<AutomationContract["verification"]["visual"]>;

interface VisualSetting {
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
interface VisualGateResult extends GateResult {
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

/** What a UI check's result says of itself. */
interface VisualResult {
  readonly passed: boolean;
  /** Whether it ran in full: mode `full`, nothing skipped. */
  readonly complete: boolean;
  readonly gaps: readonly string[];
}

/** Mode of a result that ran everything, as the public harness writes it. */
const FULL = "full";

/** Verdicts of single criteria that no policy turns into a pass. */
const RED = ["fail", "unreached"];

/**
 * Judges a visual artifact: `{"passed": bool, "mode": "full"|..., "skipped": [...], "criteria": [{"verdict": ...}]}`.
 * @param skipIsFailure whether a result that is degraded, skipped or without a mode fails even if it says passed
 * @returns why the gate fails, one sentence each; none means that it passes
 */
export function visualFailures(text: string, skipIsFailure: boolean): string[] {
  const result = jsonIn(text);
  if (result === undefined) return ["the result is not JSON"];
  if (!isRecord(result)) return ["the result isn't a JSON object"];
  const read = readResult(result);
  if ("fault" in read) return [read.fault];
  const failures: string[] = [];
  if (!read.passed) failures.push("the result says that the check did not pass");
  if (!read.complete && skipIsFailure) {
    failures.push(`the check did not run in full (${read.gaps.join("; ")}), and skip_is_failure holds`);
  }
  return failures;
}

function readResult(result: JsonObject): VisualResult | { fault: string } {
  if (typeof result.passed !== "boolean") return { fault: "the result has no `passed` of true or false" };
  const verdicts = objectsIn(result.criteria).map(({ verdict }) => verdict);
  const gaps = [...modeGaps(result), ...skipGaps(result.skipped)];
  if (verdicts.includes("skip")) gaps.push("criteria were skipped");
  const red = verdicts.some((verdict) => RED.includes(String(verdict)));
  if (result.passed && red) return { fault: "the result says passed although one of its criteria did not" };
  return { passed: result.passed, complete: gaps.length === 0, gaps };
}

function modeGaps(result: JsonObject): string[] {
  const gaps = result.degraded === true ? ["it says degraded"] : [];
  if (result.status === "skipped" || result.status === "degraded")
    gaps.push(`its status is ${result.status}`);
  if (typeof result.mode !== "string" || result.mode === "") return [...gaps, "it says no mode"];
  return result.mode === FULL ? gaps : [...gaps, `its mode is not \`${FULL}\``];
}

function skipGaps(skipped: unknown): string[] {
  const nothing =
    skipped === undefined ||
    skipped === null ||
    skipped === false ||
    skipped === 0 ||
    (Array.isArray(skipped) && skipped.length === 0);
  return nothing ? [] : ["something was skipped"];
}
