import { shell } from "./commandEnvironment";
import type { Ledger } from "./ledger";
import {
  type AppContract,
  answersHttp,
  LONGEST_PROBE_MS,
  type ProbeResult,
  probeReadiness,
  somethingAnswers,
} from "./readiness";
import type { EndedBy } from "./supervise";
import { CommandNotStarted, type RunningJob, Supervisor } from "./supervisor";

/** States of the app, as the specification's table has them. */
export type AppState = "not launched" | "launching" | "ready" | "stopping" | "stopped";

/** One state that the app entered, and why. */
export interface StateChange {
  readonly state: AppState;
  readonly because: string;
  readonly at: string;
}

/** What became of an app and of the one who used it. */
export interface AppRun<Result> {
  readonly states: readonly StateChange[];
  /** Why the app could not be used, or not to the end; absent when all went well. */
  readonly failure?: string;
  /** What the user of the app returned; absent when it never ran or was cut short. */
  readonly result?: Result;
  /** What ended the app's process group; absent when it was never launched. */
  readonly endedBy?: EndedBy;
  /** File with everything that the app wrote; absent when it was never launched. */
  readonly log?: string;
}

/** Where and with what an app runs. */
export interface AppSetting {
  readonly app: AppContract;
  /** Directory in which the app's commands run. */
  readonly project: string;
  readonly env: Readonly<Record<string, string>>;
  readonly ledger: Ledger;
  /** Further addresses that must be silent before the launch and answer once the app is ready. */
  readonly addresses?: readonly string[];
  /** Ends everything early: the app is stopped as it would be at the end. */
  readonly interrupt: AbortSignal;
}

/** Whoever uses the app while it is ready; `signal` tells it to stop, because of an interrupt or because the app died. */
export type AppUser<Result> = (address: string, signal: AbortSignal) => Promise<Result>;

/** One readiness probe; `undefined` when an interrupt came first. */
type Probe = (limitMs: number) => Promise<ProbeResult | undefined>;

/** Pause between two readiness probes, in milliseconds. */
const PROBE_PAUSE_MS = 200;

/**
 * Takes an app through its whole life: probe that must fail, launch, readiness, use, TERM, KILL. Whatever happens on the
 * way, no process of its group is left. Problems of the app come back as `failure`; the user's own errors are thrown,
 * after the app has been stopped.
 */
export async function withApp<Result>(setting: AppSetting, use: AppUser<Result>): Promise<AppRun<Result>> {
  const { app, project, env, ledger, interrupt } = setting;
  const states: StateChange[] = [];
  const enter = (state: AppState, because: string) => {
    const { at } = ledger.record({ event: "state", state, because });
    states.push({ state, because, at });
  };
  enter("not launched", "nothing may answer yet");

  const probeLog = ledger.openLog("ready.log");
  const probes =
    app.ready.command === undefined
      ? undefined
      : new Supervisor({ stdout: probeLog.descriptor, stderr: probeLog.descriptor });
  const appLog = ledger.openLog("app.log");
  const appSupervisor = new Supervisor({ stdout: appLog.descriptor, stderr: appLog.descriptor });
  const probe = (limitMs: number) =>
    untilInterrupted(
      probeReadiness(app, { ...(probes && { supervisor: probes }), cwd: project, env }, limitMs),
      interrupt,
    );
  try {
    const taken = await whyNotLaunch(setting, probe);
    if (taken !== undefined) return { states, failure: taken };
    if (interrupt.aborted) return { states, failure: interruption(interrupt) };

    enter("launching", "nothing answered, so whatever answers from now on is this app");
    const job = appSupervisor.run({
      argv: shell(app.command),
      cwd: project,
      env,
      graceMs: app.stop_timeout_sec * 1000,
      endWithLeader: false,
    });
    const outcome: { failure?: string; result?: Result } = {};
    try {
      const pgid = await job.started;
      ledger.record({ event: "launched", pgid });
      const unready = await waitUntilReady(setting, probe, job);
      if (unready !== undefined) outcome.failure = unready;
      else {
        enter("ready", "the readiness proof succeeded and the process group lives");
        Object.assign(outcome, await useApp(app.address, use, job, interrupt));
      }
    } catch (error) {
      if (!(error instanceof CommandNotStarted)) throw error;
      return { states, failure: `the app could not be started: ${error.message}` };
    } finally {
      if (states.length > 1) enter("stopping", outcome.failure ?? "the app is no longer needed");
      appSupervisor.stop();
      const by = await job.gone.then((end) => end.by).catch((): EndedBy => "itself");
      enter("stopped", STOPPED_BY[by]);
    }
    const endedBy = (await job.gone).by;
    const survived = endedBy === "nothing" ? "a process of the app survived KILL" : undefined;
    const failure = outcome.failure ?? survived;
    return { ...outcome, states, endedBy, log: appLog.file, ...(failure === undefined ? {} : { failure }) };
  } finally {
    await Promise.all([appSupervisor.close(), probes?.close()]);
    appLog.close();
    probeLog.close();
  }
}

const STOPPED_BY: Readonly<Record<EndedBy, string>> = {
  itself: "its process group had ended by itself",
  term: "its process group ended on TERM",
  kill: "stop_timeout_sec elapsed, so its process group was ended by KILL",
  nothing: "some of its process group survived KILL",
};

/** Why the app must not be launched: something answers already, so that nobody could say who answers later. */
async function whyNotLaunch(setting: AppSetting, probe: Probe): Promise<string | undefined> {
  const { app, addresses = [], interrupt } = setting;
  if (app.ready.url === undefined) {
    const result = await probe(LONGEST_PROBE_MS);
    if (result === undefined) return undefined;
    const { verdict, detail } = result;
    if (verdict === "ready") {
      return "the readiness command succeeded before the app was launched: something else answers it";
    }
    if (verdict === "broken") return `readiness can't be probed: ${detail}`;
  }
  for (const url of new Set([app.ready.url, app.interface, ...addresses])) {
    if (url !== undefined && (await untilInterrupted(somethingAnswers(url), interrupt))) {
      return `something answers at ${url} before the app was launched; stop it, or choose another port`;
    }
  }
  return undefined;
}

/** Waits for readiness; says why it did not come. */
async function waitUntilReady(
  setting: AppSetting,
  probe: Probe,
  job: RunningJob,
): Promise<string | undefined> {
  const { app, addresses = [], interrupt } = setting;
  const deadline = Date.now() + app.ready.timeout_sec * 1000;
  const left = () => Math.min(LONGEST_PROBE_MS, deadline - Date.now());
  let gone = false;
  const end = () => {
    gone = true;
  };
  job.gone.then(end, end);
  let detail = "no probe was made";
  while (left() > 0) {
    if (interrupt.aborted) return interruption(interrupt);
    if (gone) return `the app ended before it was ready (last probe: ${detail})`;
    const result = await probe(left());
    if (result === undefined) continue;
    detail = result.detail;
    if (result.verdict === "broken") return `readiness can't be probed: ${detail}`;
    if (result.verdict === "ready") {
      const silent = await firstSilent([app.interface, ...addresses], left);
      if (gone) return "something answered, but the app's process group has ended: it was not the app";
      if (silent === undefined) return undefined;
      detail = `ready, but nothing answers at ${silent}`;
    }
    await pause(Math.min(PROBE_PAUSE_MS, Math.max(left(), 0)), interrupt);
  }
  return `the app was not ready within ${app.ready.timeout_sec} s (last probe: ${detail})`;
}

async function firstSilent(
  urls: readonly (string | undefined)[],
  left: () => number,
): Promise<string | undefined> {
  for (const url of new Set(urls)) {
    if (url !== undefined && !(await answersHttp(url, Math.max(left(), 1)))) return url;
  }
  return undefined;
}

async function useApp<Result>(
  address: string,
  use: AppUser<Result>,
  job: RunningJob,
  interrupt: AbortSignal,
): Promise<{ failure?: string; result?: Result }> {
  const ending = new AbortController();
  const onInterrupt = () => ending.abort(interruption(interrupt));
  interrupt.addEventListener("abort", onInterrupt);
  if (interrupt.aborted) onInterrupt();
  let using = true;
  const onEnd = () => {
    if (using) ending.abort("the app ended while it was in use");
  };
  job.gone.then(onEnd, onEnd);
  try {
    const result = await use(address, ending.signal);
    using = false;
    return ending.signal.aborted ? { failure: String(ending.signal.reason) } : { result };
  } finally {
    using = false;
    interrupt.removeEventListener("abort", onInterrupt);
  }
}

function interruption(interrupt: AbortSignal): string {
  return `interrupted (${String(interrupt.reason)})`;
}

/** Waits, but not beyond an interrupt. */
function pause(milliseconds: number, interrupt: AbortSignal): Promise<unknown> {
  return untilInterrupted(new Promise((resolve) => setTimeout(resolve, milliseconds)), interrupt);
}

/** What a promise comes to, or `undefined` when an interrupt comes first. */
function untilInterrupted<Value>(
  promise: Promise<Value>,
  interrupt: AbortSignal,
): Promise<Value | undefined> {
  if (interrupt.aborted) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const onInterrupt = () => resolve(undefined);
    interrupt.addEventListener("abort", onInterrupt, { once: true });
    promise.then(resolve, reject).finally(() => interrupt.removeEventListener("abort", onInterrupt));
  });
}
