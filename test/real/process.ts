import { type ChildProcess, spawn } from "node:child_process";

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/**
 * Runs a program with exactly these variables; it is killed after the time, and then its code is
 * null.
 */
export function runToEnd(
  path: string,
  args: readonly string[],
  options: { readonly env: Record<string, string>; readonly cwd: string; readonly seconds: number },
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(path, args, {
      env: options.env,
      cwd: options.cwd,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    let err = "";
    child.stdout.on("data", (chunk) => {
      out += String(chunk);
    });
    child.stderr.on("data", (chunk) => {
      err += String(chunk);
    });
    const timer = setTimeout(() => child.kill("SIGKILL"), options.seconds * 1000);
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(timer);
      resolve({ code, out, err });
    });
  });
}

export interface Serving {
  readonly pid: number;
  log(): string;
  stop(): Promise<void>;
}

/**
 * Starts a server and waits until a URL answers 200. Throws with its log when it ends or takes too
 * long.
 */
export async function serveUntilReady(
  path: string,
  args: readonly string[],
  options: {
    readonly env: Record<string, string>;
    readonly cwd: string;
    readonly url: string;
    readonly seconds: number;
  },
): Promise<Serving> {
  const child = spawn(path, args, {
    env: options.env,
    cwd: options.cwd,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      log += String(chunk);
    });
  const serving = { pid: child.pid ?? 0, log: () => log, stop: () => stop(child) };
  const deadline = Date.now() + options.seconds * 1000;
  while (Date.now() < deadline && child.exitCode === null) {
    if (await answers(options.url)) return serving;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  await serving.stop();
  throw new Error(`${path} did not answer at ${options.url}; it said:\n${log.slice(-4000)}`);
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).status === 200;
  } catch {
    return false;
  }
}

function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), 15_000);
    child.on("close", () => {
      clearTimeout(timer);
      resolve();
    });
    child.kill("SIGTERM");
  });
}
