import http from "node:http";
import https from "node:https";
import { interruption, pause, untilInterrupted } from "@local-serving/base/commandLine/interrupt";
import type { AutomationContract } from "../automation/resolve";
import { shell } from "./commandEnvironment";
import { endText, type JobEnd, type RunningJob, type Supervisor } from "./supervisor";

export type AppContract = NonNullable<AutomationContract["verification"]["app"]>;

/** What one readiness probe showed; `broken` means that the probe itself could not tell. */
type Readiness = { readonly verdict: "ready" | "not-ready" | "broken"; readonly detail: string };

/**
 * Longest that a single probe may take, in milliseconds; the rest of a readiness timeout is for
 * more probes.
 */
const LONGEST_PROBE_MS = 5000;

/** Time that a stuck readiness command has between TERM and KILL, in milliseconds. */
const PROBE_GRACE_MS = 500;

/**
 * Exit codes by which a shell says that it could not run a command at all (POSIX, Shell Command
 * Language, 2.8.2).
 */
const NOT_RUNNABLE: readonly number[] = [126, 127];

interface ProbeSetting {
  /** Runs readiness commands; needed only where readiness is a command. */
  readonly supervisor?: Supervisor;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Probes the app's readiness once, within `limitMs`. */
export async function probeReadiness(
  app: AppContract,
  setting: ProbeSetting,
  limitMs: number,
): Promise<Readiness> {
  const { url, command } = app.ready;
  const { supervisor, cwd, env } = setting;
  if (url !== undefined) {
    const { status, reason } = await httpProbe(url, limitMs);
    if (status === undefined) return { verdict: "not-ready", detail: reason ?? "no answer" };
    return {
      verdict: status >= 200 && status < 400 ? "ready" : "not-ready",
      detail: `HTTP ${status}`,
    };
  }
  if (command === undefined || supervisor === undefined)
    return { verdict: "broken", detail: "the contract has no readiness proof" };
  const bounds = { boundMs: limitMs, graceMs: PROBE_GRACE_MS, endWithLeader: true };
  const { code, signal, timedOut, notStarted } = await supervisor.run({
    argv: shell(command),
    cwd,
    env,
    ...bounds,
  }).gone;
  if (timedOut) return { verdict: "not-ready", detail: "the readiness command took too long" };
  if (code === 0) return { verdict: "ready", detail: "the readiness command exited 0" };
  const how =
    notStarted === undefined ? `was ended by ${signal}` : `could not be started: ${notStarted}`;
  if (code === null) return { verdict: "broken", detail: `the readiness command ${how}` };
  const verdict = NOT_RUNNABLE.includes(code) ? "broken" : "not-ready";
  return { verdict, detail: `the readiness command exited ${code}` };
}

interface HttpAnswer {
  /** Whether anything took the connection, an answer or not. */
  readonly connected: boolean;
  readonly status?: number;
  readonly reason?: string;
}

/**
 * Asks a URL once, without following redirects. Never rejects: that nothing answers is an answer.
 */
function httpProbe(url: string, timeoutMs: number): Promise<HttpAnswer> {
  return new Promise((resolve) => {
    let connected = false;
    const client = url.toLowerCase().startsWith("https:") ? https : http;
    const request = client.get(url, { agent: false }, (response) => {
      settle({ connected: true, status: response.statusCode ?? 0 });
    });
    const timer = setTimeout(() => settle({ connected, reason: "no answer in time" }), timeoutMs);
    const settle = (answer: HttpAnswer) => {
      clearTimeout(timer);
      request.destroy();
      resolve(answer);
    };
    request.on("socket", (socket) => {
      socket.on("connect", () => {
        connected = true;
      });
    });
    request.on("error", (error: NodeJS.ErrnoException) => {
      settle({ connected, reason: error.code ?? error.message });
    });
  });
}

/** What the readiness of an app is judged by. */
export interface ReadinessSetting {
  readonly app: AppContract;
  /** Further addresses that must be silent before the launch and answer once the app is ready. */
  readonly addresses?: readonly string[];
  readonly interrupt: AbortSignal;
}

type ReadinessProbe = (limitMs: number) => Promise<Readiness | undefined>;

const PROBE_PAUSE_MS = 200;

/**
 * Why the app must not be launched: something answers already, so a later answer proves nothing.
 * Whatever takes connections counts, with any HTTP status or none.
 */
export async function whyNotLaunch(
  setting: ReadinessSetting,
  probe: ReadinessProbe,
): Promise<string | undefined> {
  const { app, addresses = [], interrupt } = setting;
  if (app.ready.url === undefined) {
    const result = await probe(LONGEST_PROBE_MS);
    if (result === undefined) return undefined;
    const { verdict, detail } = result;
    if (verdict === "ready")
      return "the readiness command succeeded before the app was launched: something else satisfies it";
    if (verdict === "broken") return `readiness can't be probed: ${detail}`;
  }
  for (const url of new Set([app.ready.url, app.interface, ...addresses])) {
    if (url === undefined) continue;
    if ((await untilInterrupted(httpProbe(url, LONGEST_PROBE_MS), interrupt))?.connected === true)
      return `something answered at ${url} before the app was launched; stop it, or choose another port`;
  }
  return undefined;
}

/** Waits for readiness; says why it did not come. */
export async function waitUntilReady(
  setting: ReadinessSetting,
  probe: ReadinessProbe,
  job: RunningJob,
) {
  const { app, addresses = [], interrupt } = setting;
  const deadline = Date.now() + app.ready.timeout_sec * 1000;
  const left = () => Math.min(LONGEST_PROBE_MS, deadline - Date.now());
  let end: JobEnd | undefined;
  void job.gone.then((found) => {
    end = found;
  });
  let detail = "no probe was made";
  while (left() > 0) {
    if (interrupt.aborted) return interruption(interrupt);
    if (end !== undefined)
      return `the app ended before it was ready (it ${endText(end)}; last probe: ${detail})`;
    const result = await probe(left());
    if (result === undefined) continue;
    detail = result.detail;
    if (result.verdict === "broken") return `readiness can't be probed: ${detail}`;
    if (result.verdict === "ready") {
      const silent = await firstSilent([app.interface, ...addresses], left);
      if (end !== undefined)
        return "something answered, but the app's process group has ended: it was not the app";
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
    if (url !== undefined && (await httpProbe(url, Math.max(left(), 1))).status === undefined)
      return url;
  }
  return undefined;
}
