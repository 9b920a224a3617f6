import { type ChildProcess, execFileSync, spawn } from "node:child_process";

/** Command lines of all processes, zombies left out, that hold a marker. */
export function processesWith(marker: string): string[] {
  const lines = execFileSync("ps", ["-eo", "pid=,stat=,args="], { encoding: "utf8" }).split("\n");
  return lines.filter((line) => line.includes(marker) && !/^\s*\d+\s+Z/.test(line));
}

/** Members of a process group, zombies left out. */
export function groupMembers(pgid: number): string[] {
  const lines = execFileSync("ps", ["-eo", "pgid=,stat=,args="], { encoding: "utf8" }).split("\n");
  return lines.filter((line) => new RegExp(`^\\s*${pgid}\\s+[^Z\\s]`).test(line));
}

export function childrenOf(pid: number): number[] {
  const lines = execFileSync("ps", ["-eo", "ppid=,pid=,stat="], { encoding: "utf8" }).split("\n");
  return lines.flatMap((line) => {
    const [parent, child, state] = line.trim().split(/\s+/);
    return Number(parent) === pid && state?.startsWith("Z") === false ? [Number(child)] : [];
  });
}

/** Kills a process and its children by SIGKILL so that none of them sees another die. */
export function killTogether(pid: number): void {
  const all = [pid, ...childrenOf(pid)];
  for (const each of all) process.kill(each, "SIGSTOP");
  for (const each of all) process.kill(each, "SIGKILL");
}

/** Ends every process that holds a marker: what a test has left on purpose. */
export function endProcessesWith(marker: string): void {
  for (const line of processesWith(marker)) {
    try {
      process.kill(Number(line.trim().split(/\s+/)[0]), "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** Waits until something holds, for a minute at most. */
export async function eventually(holds: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!holds()) {
    if (Date.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
}

export function start(
  file: string,
  args: readonly string[],
  cwd: string,
  env = process.env,
): Started {
  const child = spawn(file, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (data: Buffer) => {
    stdout += data;
  });
  child.stderr.on("data", (data: Buffer) => {
    stderr += data;
  });
  const finished = new Promise<Finished>((resolve) => {
    child.on("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return { child, finished };
}
