import { interruption, pause, untilInterrupted } from "../../commandLine/interrupt";
import {
  type AppContract,
  answersHttp,
  LONGEST_PROBE_MS,
  type Readiness,
  somethingAnswers,
} from "./readiness";
import type { RunningJob } from "./supervisor";

/** What the readiness of an app is judged by. */
export interface ReadinessSetting {
  readonly app: AppContract;
  /** Further addresses that must be silent before the launch and answer once the app is ready. */
  readonly addresses?: readonly string[];
  readonly interrupt: AbortSignal;
}

export type ReadinessProbe = (limitMs: number) => Promise<Readiness | undefined>;

const PROBE_PAUSE_MS = 200;

/** Why the app must not be launched: something answers already, so a later answer proves nothing. */
export async function whyNotLaunch(
  setting: ReadinessSetting,
  probe: ReadinessProbe,
): Promise<string | undefined> {
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
export async function waitUntilReady(
  setting: ReadinessSetting,
  probe: ReadinessProbe,
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
