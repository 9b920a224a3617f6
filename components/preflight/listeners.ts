import { readdir, readFile, readlink } from "node:fs/promises";
import type { Listener } from "./types";

/** State of a listening socket in /proc/net/tcp. */
const LISTENING = "0A";

/** What listens on the given TCP ports: process and argv. Only reads /proc; other users' processes stay unnamed. */
export async function readListeners(ports: readonly number[], proc = "/proc"): Promise<Listener[]> {
  const tables = await Promise.all([`${proc}/net/tcp`, `${proc}/net/tcp6`].map(textOrNothing));
  const inodes = new Map<string, number>();
  for (const { port, inode } of tables.flatMap(listeningSockets)) {
    if (ports.includes(port)) inodes.set(inode, port);
  }
  const owners =
    inodes.size === 0
      ? new Map<string, Omit<Listener, "port">>()
      : await ownersOf(new Set(inodes.keys()), proc);
  const found = new Map<number, Listener>();
  for (const [inode, port] of inodes) {
    const owner = owners.get(inode);
    if (owner !== undefined || !found.has(port)) found.set(port, { port, ...owner });
  }
  return [...found.values()].sort((a, b) => a.port - b.port);
}

function listeningSockets(table: string): { port: number; inode: string }[] {
  return table
    .split("\n")
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => columns[3] === LISTENING)
    .map((columns) => ({
      port: Number.parseInt(columns[1]?.split(":")[1] ?? "0", 16),
      inode: columns[9] ?? "",
    }));
}

async function ownersOf(
  inodes: ReadonlySet<string>,
  proc: string,
): Promise<Map<string, Omit<Listener, "port">>> {
  const found = new Map<string, Omit<Listener, "port">>();
  const processes = (await readdir(proc).catch(() => [])).filter((name) => /^\d+$/.test(name));
  for (const pid of processes) {
    const handles = await readdir(`${proc}/${pid}/fd`).catch(() => []);
    for (const handle of handles) {
      const target = await readlink(`${proc}/${pid}/fd/${handle}`).catch(() => "");
      const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
      if (inode === undefined || !inodes.has(inode) || found.has(inode)) continue;
      const argv = (await textOrNothing(`${proc}/${pid}/cmdline`)).split("\0");
      if (argv.at(-1) === "") argv.pop();
      found.set(inode, { pid: Number(pid), argv });
    }
    if (found.size === inodes.size) break;
  }
  return found;
}

function textOrNothing(file: string): Promise<string> {
  return readFile(file, "utf8").catch(() => "");
}
