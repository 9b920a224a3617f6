import http from "node:http";
import https from "node:https";
import type { AutomationContract } from "../automation/resolve";
import { shell } from "./commandEnvironment";
import { CommandNotStarted, type Supervisor } from "./supervisor";

export type AppContract = NonNullable<AutomationContract["verification"]["app"]>;

/** What one readiness probe showed; `broken` means that the probe itself could not tell. */
export interface Readiness {
  readonly verdict: "ready" | "not-ready" | "broken";
  readonly detail: string;
}

/** Longest that a single probe may take, in milliseconds; the rest of a readiness timeout is for more probes. */
export const LONGEST_PROBE_MS = 5000;

/** Time that a stuck readiness command has between TERM and KILL, in milliseconds. */
const PROBE_GRACE_MS = 500;

/** Exit codes by which a shell says that it could not run a command at all (POSIX, Shell Command Language, 2.8.2). */
const NOT_RUNNABLE: readonly number[] = [126, 127];

export interface ProbeSetting {
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
  if (url !== undefined) return urlReadiness(url, limitMs);
  if (command === undefined || setting.supervisor === undefined) {
    return { verdict: "broken", detail: "the contract has no readiness proof" };
  }
  return commandReadiness(command, setting.supervisor, setting, limitMs);
}

/** Whether anything at all takes connections at a URL: any HTTP status counts, silence too. */
export async function somethingAnswers(url: string, limitMs: number = LONGEST_PROBE_MS): Promise<boolean> {
  return (await httpProbe(url, limitMs)).connected;
}

/** Whether an HTTP answer of any status comes from a URL. */
export async function answersHttp(url: string, limitMs: number): Promise<boolean> {
  return (await httpProbe(url, limitMs)).status !== undefined;
}

async function urlReadiness(url: string, limitMs: number): Promise<Readiness> {
  const { status, reason } = await httpProbe(url, limitMs);
  if (status === undefined) return { verdict: "not-ready", detail: reason ?? "no answer" };
  const verdict = status >= 200 && status < 400 ? "ready" : "not-ready";
  return { verdict, detail: `HTTP ${status}` };
}

async function commandReadiness(
  command: string,
  supervisor: Supervisor,
  setting: ProbeSetting,
  limitMs: number,
): Promise<Readiness> {
  const { cwd, env } = setting;
  const argv = shell(command);
  try {
    const end = await supervisor.run({
      argv,
      cwd,
      env,
      boundMs: limitMs,
      graceMs: PROBE_GRACE_MS,
      endWithLeader: true,
    }).gone;
    if (end.timedOut) return { verdict: "not-ready", detail: "the readiness command took too long" };
    if (end.code === 0) return { verdict: "ready", detail: "the readiness command exited 0" };
    if (end.code === null)
      return { verdict: "broken", detail: `the readiness command was ended by ${end.signal}` };
    const verdict = NOT_RUNNABLE.includes(end.code) ? "broken" : "not-ready";
    return { verdict, detail: `the readiness command exited ${end.code}` };
  } catch (error) {
    if (!(error instanceof CommandNotStarted)) throw error;
    return { verdict: "broken", detail: `the readiness command could not be started: ${error.message}` };
  }
}

export interface HttpAnswer {
  /** Whether anything took the connection, an answer or not. */
  readonly connected: boolean;
  readonly status?: number;
  readonly reason?: string;
}

/** Asks a URL once, without following redirects. Never rejects: that nothing answers is an answer. */
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
