import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Readable } from "node:stream";
import { defined } from "../faults/defined";
import { ENDING_SIGNALS } from "./interrupt";

/** Both outputs of a program as one, in the order in which it writes them. */
const BOTH_OUTPUTS = 'exec "$@" 2>&1';

/** How long to wait for the rest of the output once the program has ended. */
const DRAIN_MILLISECONDS = 500;

export interface End {
  /** `null` where a signal ended it, or where it never started. */
  readonly code: number | null;
  /** Why it could not be started, e.g. `ENOENT`. */
  readonly notStarted?: string;
  /** Set where we stopped it: it ran out of time, or it printed more than is read. */
  readonly stopped?: "timeout" | "output";
}

export interface StartOptions {
  /** Seconds after which it is stopped. */
  readonly seconds?: number;
  /** Variables over those of this process. */
  readonly env?: NodeJS.ProcessEnv;
  /** Folder that it runs in; without this it is ours. */
  readonly cwd?: string;
  /** Hands stderr on as part of stdout. */
  readonly merged?: boolean;
  /** What it reads; without this it reads nothing. */
  readonly input?: string;
  /** Keeps its stdin open until it is stopped, or this process ends. */
  readonly held?: boolean;
  /**
   * Leaves it in the terminal's own session, in which `sudo -n` finds its ticket. It is then
   * stopped alone, and Ctrl-C reaches it by itself.
   */
  readonly inSession?: boolean;
}

/**
 * Starts a program in a process group of its own, unless it stays `inSession`: a script in its place
 * would leave behind what it started if it were killed alone. Nothing of the group outlives its time
 * or this process.
 */
export function start(command: readonly string[], options: StartOptions = {}) {
  const { seconds, env, cwd, merged, input, held, inSession = false } = options;
  const [program = "", ...args] =
    merged === true ? ["sh", "-c", BOTH_OUTPUTS, "sh", ...command] : command;
  const child = spawn(program, args, {
    detached: !inSession,
    ...defined({ cwd }),
    env: { ...process.env, ...env },
    stdio: "pipe",
  });
  // It may end without reading.
  child.stdin.on("error", () => {});
  if (held !== true) child.stdin.end(input);
  if (!inSession) hold(child);
  let close: (end: End) => void = () => {};
  const ended = new Promise<End>((resolve) => {
    close = resolve;
  });
  const stop = (stopped?: End["stopped"]) => {
    if (inSession) child.kill("SIGKILL");
    else release(child);
    child.stdin.destroy();
    child.stdout.destroy();
    child.stderr.destroy();
    // A program that waits for a hanging mount ends later, even when it is killed.
    child.unref();
    close({ code: null, ...defined({ stopped }) });
  };
  const timer = seconds === undefined ? undefined : setTimeout(stop, seconds * 1000, "timeout");
  child.on("error", (error: NodeJS.ErrnoException) =>
    close({ code: null, notStarted: error.code ?? error.message }),
  );
  // Something that it left in the background may keep an output open.
  child.on("exit", () => setTimeout(release, DRAIN_MILLISECONDS, child).unref());
  child.on("close", (code) => close({ code }));
  void ended.then(() => {
    clearTimeout(timer);
    release(child);
  });
  const { stdout, stderr } = child;
  /** `stop` ends the program with everything that it started, and closes its outputs. */
  return { stdout, stderr, ended, stop };
}

export interface Ran extends End {
  readonly out: string;
  readonly err: string;
}

/**
 * Runs a program to its end; `largest` bounds what is read of each of its outputs, in characters.
 * Never throws.
 */
export async function run(
  command: readonly string[],
  { largest, ...options }: StartOptions & { readonly seconds: number; readonly largest: number },
): Promise<Ran> {
  const { stdout, stderr, ended, stop } = start(command, options);
  const read = { out: "", err: "" };
  for (const [to, output] of [
    ["out", stdout],
    ["err", stderr],
  ] as const)
    output.setEncoding("utf8").on("data", (chunk: string) => {
      read[to] += chunk;
      if (read[to].length > largest) stop("output");
    });
  return { ...(await ended), ...read };
}

/**
 * Runs a program that answers at once, such as git, and waits for it: it may take 20 s and print
 * 4 MiB. `env` is its whole environment. Never throws.
 */
export function runAtOnce([program = "", ...args]: readonly string[], env = process.env) {
  const { status, stdout, stderr } = spawnSync(program, args, {
    env,
    encoding: "utf8",
    timeout: 20_000,
    killSignal: "SIGKILL",
    maxBuffer: 4 * 1024 ** 2,
  });
  // Both are null where it never started.
  return { code: status, out: stdout ?? "", err: stderr ?? "" };
}

/** How often a program that talks to the terminal itself is looked at. */
const LOOK_MS = 1000;

/**
 * Runs a program that talks to the terminal itself, Ctrl-C included; gives its exit code, 1 where a
 * signal ended it. It is interrupted as by Ctrl-C once `isStuck` says so.
 */
export function runShown(
  [program = "", ...args]: readonly string[],
  options: {
    readonly cwd?: string;
    readonly env?: NodeJS.ProcessEnv;
    readonly stdio: "inherit" | ["ignore", 2, 2];
  },
  isStuck?: () => boolean,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const ignore = () => {};
    process.on("SIGINT", ignore);
    const child = spawn(program, args, options);
    const look =
      isStuck &&
      setInterval(() => {
        if (!isStuck()) return;
        clearInterval(look);
        child.kill("SIGINT");
      }, LOOK_MS);
    child.on("error", reject);
    child.on("close", (code) => {
      clearInterval(look);
      process.off("SIGINT", ignore);
      resolve(code ?? 1);
    });
  });
}

/** Longest piece of a line that is handed on: a line without an end must not fill the memory. */
const LONGEST_LINE = 8192;

/**
 * Hands each line of an output on, whatever its size. Progress bars end their lines with a carriage
 * return.
 */
export function eachLine(output: Readable, line: (text: string) => void): void {
  let rest = "";
  output.setEncoding("utf8");
  output.on("data", (chunk: string) => {
    const parts = (rest + chunk).split(/\r\n|\n|\r/);
    rest = (parts.pop() ?? "").slice(0, LONGEST_LINE);
    for (const part of parts) line(part.slice(0, LONGEST_LINE));
  });
  output.on("end", () => {
    if (rest !== "") line(rest);
  });
}

/** The first program of these names in a PATH that this user may run. */
export function programOnPath(names: readonly string[], path = ""): string | undefined {
  const folders = path.split(delimiter).filter(Boolean);
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isExecutable);
}

/** Whether a file is there that this user may run. */
function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Every program that runs: Ctrl-C doesn't reach a group of its own. */
const held = new Set<ChildProcess>();

function hold(child: ChildProcess): void {
  if (held.size === 0) {
    process.on("exit", releaseAll);
    for (const signal of ENDING_SIGNALS) process.on(signal, interrupted);
  }
  held.add(child);
}

function release(child: ChildProcess): void {
  if (!held.delete(child)) return;
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // Nothing of it is left.
  }
  if (held.size > 0) return;
  process.off("exit", releaseAll);
  for (const signal of ENDING_SIGNALS) process.off(signal, interrupted);
}

function releaseAll(): void {
  for (const child of held) release(child);
}

/** With our own listener gone, the signal does to this process what it would have done. */
function interrupted(signal: NodeJS.Signals): void {
  releaseAll();
  process.kill(process.pid, signal);
}
