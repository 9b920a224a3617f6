import { spawn } from "node:child_process";

export interface RunOptions {
  readonly cwd?: string;
  /** Added to this process's environment; `undefined` takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly input?: string;
  /** Seconds after which the program and all that it started are killed. */
  readonly limitSeconds?: number;
}

export interface Finished {
  /** Exit code, or 124 where the limit ran out. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const DEFAULT_LIMIT_SECONDS = 600;
/** The code that coreutils' `timeout` gives. */
const LIMIT_RAN_OUT = 124;
/** What a shell says of a program that isn't there. */
const NOT_FOUND = 127;

/**
 * Runs a program to its end without a shell. Never rejects: a program that isn't there ends with
 * 127.
 */
export function run(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Finished> {
  const { cwd, input, limitSeconds = DEFAULT_LIMIT_SECONDS } = options;
  return new Promise((resolve) => {
    // A group of its own, so that a limit also ends the plugins that an engine started.
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...options.env },
      detached: true,
    });
    let stdout = "";
    let stderr = "";
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    }, limitSeconds * 1000);
    const finish = (code: number, more = "") => {
      clearTimeout(timer);
      resolve({ code, stdout, stderr: stderr + more });
    };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.on("error", (error) => finish(NOT_FOUND, error.message));
    child.on("close", (code, signal) => {
      if (timedOut) finish(LIMIT_RAN_OUT, `\nkilled: still running after ${limitSeconds} s`);
      else finish(code ?? 1, signal === null ? "" : `\nended by ${signal}`);
    });
    child.stdin.on("error", () => {}); // A program may end before it has read everything.
    child.stdin.end(input);
  });
}

/**
 * As `run`, and throws what the program said where it fails. Returns stdout without the last line
 * break.
 */
export async function mustRun(command: string, args: readonly string[], options?: RunOptions) {
  const { code, stdout, stderr } = await run(command, args, options);
  if (code === 0) return stdout.trimEnd();
  throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${stdout}${stderr}`);
}
