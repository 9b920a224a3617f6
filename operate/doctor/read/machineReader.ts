import { start } from "../../../commandLine/run";
import { computerOf, filesOf } from "../../../components/host/files";
import { readSockets } from "../../../components/host/listeners";
import { commandOn, type Place } from "../../../components/host/onMachine";
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

export const machineReaders = { of: machineReader };

/** What is read of a machine beside its containers; absent or "" where we may not read it. */
function machineReader(machine: Place) {
  const files = filesOf(machine);
  const scan = (about: Pick<LogReading, "name" | "kind">, words: readonly string[]) =>
    scanProgram(about, commandOn(machine, words));
  return {
    kernelLog: async () => {
      const about = { name: "the kernel's log", kind: "kernel" } as const;
      const journal = await scan(about, ["journalctl", "--dmesg", ...NEWEST_LINES]);
      if (journal !== undefined && journal.lines >= FEWEST_KERNEL_LINES) return journal;
      return scan(about, ["dmesg", "--time-format", "iso"]);
    },
    journal: (unit: string) =>
      scan({ name: `journal of ${unit}`, kind: "service" }, ["journalctl", "--unit", unit, ...NEWEST_LINES]),
    meminfo: async () => (await files.text("/proc/meminfo")) ?? "",
    sockets: () => readSockets("/proc", files),
    addresses: async () => (await files.addresses()).map(({ address }) => address),
    fileState: async (file: PlannedFile): Promise<FileState> => {
      const { role, path, text } = file;
      const files = filesOf(computerOf(machine, file));
      const found = await files.state(path);
      if (typeof found === "string") return { role, path, state: found };
      if (found.kind !== "file") return { role, path, state: "different" };
      const read = await files.text(path);
      return { role, path, state: read === undefined ? "unreadable" : read === text ? "same" : "different" };
    },
  };
}
