import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { run } from "../layers/run";

/**
 * What a Docker daemon and its containers leave on a machine when they are killed. A daemon of a test has a mark of its
 * own, which stands in its command lines, in its mount points and in the names of its control groups.
 */
export interface Remains {
  /** Ids: the daemon's own processes, shims, and whatever runs in the containers. */
  readonly processes: readonly number[];
  /** The innermost first. */
  readonly mounts: readonly string[];
  /** The innermost first. */
  readonly cgroups: readonly string[];
}

export function remainsOf(mark: string): Remains {
  return { processes: processes(mark), mounts: mounts(mark), cgroups: cgroups(mark) };
}

const TRIES = 50;
const TRY_EVERY_MILLISECONDS = 100;

/** Takes all of it away: kills the processes, by their ids, and waits for their ends. */
export async function removeRemains(mark: string): Promise<void> {
  for (let attempt = 0; processes(mark).length > 0 && attempt < TRIES; attempt += 1) {
    killProcesses(mark);
    await sleep(TRY_EVERY_MILLISECONDS);
  }
  for (const path of mounts(mark)) await run("umount", ["--lazy", path]);
  for (let attempt = 0; cgroups(mark).length > 0 && attempt < TRIES; attempt += 1) {
    for (const path of cgroups(mark)) ignoringGone(() => rmdirSync(path));
    await sleep(TRY_EVERY_MILLISECONDS);
  }
}

/** Kills them by their ids, without waiting. */
export function killProcesses(mark: string): void {
  for (const pid of processes(mark)) ignoringGone(() => process.kill(pid, "SIGKILL"));
}

/** containerd 1.x has the sockets of its shims outside its state; each shim's folder names its own. */
export function removeShimSockets(state: string, namespace: string): void {
  const tasks = join(state, "io.containerd.runtime.v2.task", namespace);
  if (!existsSync(tasks)) return;
  for (const id of readdirSync(tasks)) {
    const file = join(tasks, id, "address");
    if (existsSync(file)) rmSync(readFileSync(file, "utf8").trim().replace("unix://", ""), { force: true });
  }
}

function processes(mark: string): number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const of = (file: string) => readFileSync(`/proc/${name}/${file}`, "utf8");
      const dead = /^State:\s+[ZX]/m.test(of("status"));
      return !dead && (of("cmdline").includes(mark) || of("cgroup").includes(mark)) ? [Number(name)] : [];
    } catch {
      return []; // It ended while we looked.
    }
  });
}

function mounts(mark: string): string[] {
  return readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .flatMap((line) => line.split(" ")[1] ?? [])
    .filter((path) => path.includes(`/${mark}/`))
    .reverse();
}

/** In the one tree of version 2 or in each of version 1. */
function cgroups(mark: string): string[] {
  const root = "/sys/fs/cgroup";
  const tops = [root, ...folders(root)].map((tree) => join(tree, mark)).filter((path) => existsSync(path));
  const withInner = (path: string): string[] => [...folders(path).flatMap(withInner), path];
  return tops.flatMap(withInner);
}

function folders(path: string): string[] {
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(path, entry.name));
}

function ignoringGone(action: () => void): void {
  try {
    action();
  } catch {
    // It ended by itself, or is not empty yet; the next try sees.
  }
}
