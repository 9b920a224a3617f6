import { readdirSync, readFileSync } from "node:fs";

/** A process of this computer. */
export interface Process {
  readonly pid: number;
  readonly args: readonly string[];
}

/** All that run, without those that have ended and that nobody asked about. */
function processes(): Process[] {
  return readdirSync("/proc").flatMap((name) => {
    const args = /^\d+$/.test(name) ? words(`/proc/${name}/cmdline`) : [];
    return args.length === 0 ? [] : [{ pid: Number(name), args }];
  });
}

/** Those that have this variable, as all have that one unit started. */
export function withVariable(name: string, value: string): Process[] {
  return processes().filter(({ pid }) =>
    words(`/proc/${pid}/environ`).includes(`${name}=${value}`),
  );
}

export function kill(pid: number | undefined, signal: NodeJS.Signals = "SIGKILL"): void {
  try {
    if (pid !== undefined) process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

function words(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\0").filter(Boolean);
  } catch {
    return [];
  }
}
