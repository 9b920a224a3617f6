import { interruption, untilInterrupted } from "@local-serving/base/commandLine/interrupt";
import { defined } from "@local-serving/base/faults/defined";
import { shell } from "./commandEnvironment";
import type { EndedBy } from "./jobProcesses";
import type { RunSetting } from "./ledger";
import { probeReadiness, type ReadinessSetting, waitUntilReady, whyNotLaunch } from "./readiness";
import { endText, type JobEnd, type RunningJob, Supervisor } from "./supervisor";

/** States of the app, named as in the specification's table. */
export type AppState = "not launched" | "launching" | "ready" | "stopping" | "stopped";

export type StateChange = {
  readonly state: AppState;
  readonly because: string;
  readonly at: string;
};

/** What became of an app and of the one who used it. */
interface AppRun<Result> {
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

export interface AppSetting extends ReadinessSetting, RunSetting {
  readonly project: string;
  /** Hears of each state as it comes. */
  readonly onState?: (change: StateChange) => void;
}

/**
 * Uses the app while it is ready; `signal` ends the use after an interrupt or when the app dies.
 */
export type AppUser<Result> = (address: string, signal: AbortSignal) => Promise<Result>;

/**
 * Takes an app through its whole life: probe that must fail, launch, readiness, use, TERM, KILL.
 * Whatever happens on the way, no process of its group is left. Problems of the app come back as
 * `failure`; the user's own errors are thrown, after the app has been stopped.
 */
export async function withApp<Result>(
  setting: AppSetting,
  use: AppUser<Result>,
): Promise<AppRun<Result>> {
  const { app, project, env, ledger, interrupt } = setting;
  const states: StateChange[] = [];
  const enter = (state: AppState, because: string) => {
    const { at } = ledger.record({ event: "state", state, because });
    states.push({ state, because, at });
    setting.onState?.({ state, because, at });
  };
  enter("not launched", "nothing may answer yet");

  const probeLog = ledger.openLog("ready.log");
  const probes =
    app.ready.command === undefined ? undefined : new Supervisor(probeLog.streams, ledger.jobs);
  const appLog = ledger.openLog("app.log");
  const appSupervisor = new Supervisor(appLog.streams, ledger.jobs);
  const probing = { ...defined({ supervisor: probes }), cwd: project, env };
  const probe = (limitMs: number) =>
    untilInterrupted(probeReadiness(app, probing, limitMs), interrupt);
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
    const outcome: Outcome<Result> = {};
    try {
      const pgid = await job.started;
      if (pgid === undefined)
        return { states, failure: `the app could not be started: ${(await job.gone).notStarted}` };
      ledger.record({ event: "launched", pgid });
      const unready = await waitUntilReady(setting, probe, job);
      if (unready !== undefined) outcome.failure = unready;
      else {
        enter("ready", "the readiness proof succeeded and the process group lives");
        Object.assign(outcome, await useApp(app.address, use, job, interrupt));
      }
    } finally {
      enter("stopping", outcome.failure === undefined ? NOT_NEEDED : FAILED);
      appSupervisor.stop();
      enter("stopped", howStopped(await job.gone));
    }
    const { by } = await job.gone;
    const survived = by === "nothing" ? "a process of the app survived KILL" : undefined;
    const failure = withLog(outcome.failure ?? survived, setting, appLog.file);
    return { ...outcome, states, endedBy: by, log: appLog.file, ...defined({ failure }) };
  } finally {
    await Promise.all([appSupervisor.close(), probes?.close()]);
    appLog.close();
    probeLog.close();
  }
}

const NOT_NEEDED = "the app is no longer needed";
const FAILED = "it can't be used, or not any more";

/** A failure of the app with where its output is; an interruption is none of its own. */
const withLog = (failure: string | undefined, { interrupt }: AppSetting, file: string) =>
  failure === undefined || interrupt.aborted ? failure : `${failure}; its output is in ${file}`;

/** What the user of an app returned, or why it could not be used. */
interface Outcome<Result> {
  failure?: string;
  result?: Result;
}

/** Says how an app came to its end. */
const howStopped = ({ by, escaped }: JobEnd): string =>
  `${STOPPED_BY[by]}${escaped === 0 ? "" : `, and ${escaped} that had left it were stopped too`}`;

const STOPPED_BY: Readonly<Record<EndedBy, string>> = {
  itself: "its process group had ended by itself",
  term: "its process group ended on TERM",
  kill: "stop_timeout_sec elapsed, so its process group was ended by KILL",
  nothing: "some of its processes survived KILL",
};

async function useApp<Result>(
  address: string,
  use: AppUser<Result>,
  job: RunningJob,
  interrupt: AbortSignal,
): Promise<Outcome<Result>> {
  const ending = new AbortController();
  const onInterrupt = () => ending.abort(interruption(interrupt));
  interrupt.addEventListener("abort", onInterrupt);
  if (interrupt.aborted) onInterrupt();
  void job.gone.then((end) =>
    ending.abort(`the app ended while it was in use (it ${endText(end)})`),
  );
  try {
    const result = await use(address, ending.signal);
    return ending.signal.aborted ? { failure: String(ending.signal.reason) } : { result };
  } finally {
    interrupt.removeEventListener("abort", onInterrupt);
  }
}
