import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";

/** Folder of containerd's state in a daemon's folder. */
export const CONTAINERD_STATE = "containerd-state";

/**
 * What a Docker daemon of a test and its containers leave on a machine when they are killed. The
 * name of the daemon's folder is to stand in each command line or control group of theirs, and is
 * containerd's namespace.
 */
export interface Remains {
  /** Ids: the daemon's own processes, shims, and whatever runs in the containers. */
  readonly processes: readonly number[];
  /** Mount points, the innermost first. */
  readonly mounts: readonly string[];
  /** Folders, the innermost first. */
  readonly cgroups: readonly string[];
  readonly sockets: readonly string[];
}

export function remainsOf(folder: string): Remains {
  const mark = basename(folder);
  return {
    processes: processes(mark),
    mounts: mounts(folder),
    cgroups: cgroups(mark),
    sockets: sockets(folder),
  };
}

/**
 * Takes all of it away, the processes by their ids; waits for their ends, so that it can be a
 * process's last act.
 */
export function removeRemains(folder: string): void {
  const mark = basename(folder);
  repeatWhile(
    () => processes(mark),
    (pid) => process.kill(pid, "SIGKILL"),
  );
  for (const path of sockets(folder)) rmSync(path, { force: true });
  for (const path of mounts(folder)) spawnSync("umount", ["--lazy", path]);
  repeatWhile(() => cgroups(mark), rmdirSync);
}

const TRIES = 50;
const TRY_EVERY_MILLISECONDS = 100;

function repeatWhile<Item>(left: () => readonly Item[], remove: (item: Item) => void): void {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const items = left();
    if (items.length === 0) return;
    for (const item of items) {
      try {
        remove(item);
      } catch {
        // It is gone, or is not empty yet: the next try sees.
      }
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TRY_EVERY_MILLISECONDS);
  }
}

function processes(mark: string): number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const of = (file: string) => readFileSync(`/proc/${name}/${file}`, "utf8");
      const dead = /^State:\s+[ZX]/m.test(of("status"));
      return !dead && (of("cmdline").includes(mark) || of("cgroup").includes(mark))
        ? [Number(name)]
        : [];
    } catch {
      return []; // It ended while we looked.
    }
  });
}

function mounts(folder: string): string[] {
  return readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .flatMap((line) => line.split(" ")[1] ?? [])
    .filter((path) => path.startsWith(`${folder}/`))
    .reverse();
}

/** containerd 1.x has them outside its state, where each shim's folder names its own. */
function sockets(folder: string): string[] {
  return folders(join(folder, CONTAINERD_STATE, "io.containerd.runtime.v2.task", basename(folder)))
    .map((shim) => join(shim, "address"))
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, "utf8").trim().replace("unix://", ""));
}

/** In the one tree of version 2 or in each of version 1. */
function cgroups(mark: string): string[] {
  const root = "/sys/fs/cgroup";
  const tops = [root, ...folders(root)]
    .map((tree) => join(tree, mark))
    .filter((path) => existsSync(path));
  const withInner = (path: string): string[] => [...folders(path).flatMap(withInner), path];
  return tops.flatMap(withInner);
}

function folders(path: string): string[] {
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(path, entry.name));
}
