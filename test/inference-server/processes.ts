import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const isInstalled = ([program = ""]: readonly string[]): boolean =>
  spawnSync(program, { stdio: "ignore" }).error === undefined;

/** Whatever the image's /bin/sh may be, where it is installed here. */
export const SHELLS = [["dash"], ["busybox", "ash"]].filter(isInstalled);

/**
 * The same, with the one that evaluates most of what it reads; what takes long is left to the
 * others.
 */
export const ALL_SHELLS = [...SHELLS, ...[["bash", "--posix"]].filter(isInstalled)];

export const which = (tool: string): string =>
  ["/usr/bin", "/bin"].map((each) => join(each, tool)).find(existsSync) ?? `/no/${tool}`;

export function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    return text.split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Not of one that has ended, and that nobody asked about. */
export function runs(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
