import { readFile, stat } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { start } from "../../../commandLine/run";
import { readSockets } from "../../../components/host/listeners";
import type { PlannedFile } from "../../../components/planned/file";
import { SIGNS } from "../diagnoses";
import type { FileState } from "../facts";
import { type LogReading, scanLog } from "../scanLog";

/** Seconds that one program's output is listened to. */
const LISTEN_SECONDS = 20;

/** Reads what a program prints; `undefined` where it fails or isn't there. */
export async function scanProgram(
  about: Pick<LogReading, "name" | "kind" | "container">,
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<LogReading | undefined> {
  // The scan gives up first.
  const { stdout, ended, stop } = start(command, { seconds: LISTEN_SECONDS + 1, env, merged: true });
  const log = await scanLog(about, stdout, SIGNS, { seconds: LISTEN_SECONDS });
  if (log.cutShort !== undefined) stop();
  const { code, stopped } = await ended;
  if (code === 0) return log;
  const neverEnded = log.cutShort !== undefined || stopped === "timeout";
  return neverEnded && log.lines > 1 ? { cutShort: "it did not end in time", ...log } : undefined;
}

/** With times that can be compared. */
const NEWEST_LINES = ["--no-pager", "--lines", "5000", "--output", "short-iso"];

/** A boot prints hundreds of lines; fewer than these are how journalctl says that we may read none. */
const FEWEST_KERNEL_LINES = 5;

/** What is read of this machine beside its containers; absent or "" where we may not read it. */
export const thisMachine = {
  kernelLog: async () => {
    const about = { name: "the kernel's log", kind: "kernel" } as const;
    const journal = await scanProgram(about, ["journalctl", "--dmesg", ...NEWEST_LINES]);
    if (journal !== undefined && journal.lines >= FEWEST_KERNEL_LINES) return journal;
    return scanProgram(about, ["dmesg", "--time-format", "iso"]);
  },
  journal: (unit: string) => {
    const about = { name: `journal of ${unit}`, kind: "service" } as const;
    return scanProgram(about, ["journalctl", "--unit", unit, ...NEWEST_LINES]);
  },
  meminfo: () => readFile("/proc/meminfo", "utf8").catch(() => ""),
  sockets: () => readSockets(),
  addresses: () =>
    Object.values(networkInterfaces()).flatMap((each) =>
      (each ?? []).filter(({ family }) => family === "IPv4").map(({ address }) => address),
    ),
  fileState: async ({ role, path, text }: PlannedFile): Promise<FileState> => {
    try {
      if (!(await stat(path)).isFile()) return { role, path, state: "different" };
      return { role, path, state: (await readFile(path, "utf8")) === text ? "same" : "different" };
    } catch (error) {
      const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
      return { role, path, state: missing ? "missing" : "unreadable" };
    }
  },
};
