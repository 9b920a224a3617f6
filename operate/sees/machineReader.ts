import type { PlannedFile } from "../../components/planned";
import { computerOf, filesOf } from "../../machines/files";
import { readSockets } from "../../machines/listeners";
import { type CommandPlace, commandOn } from "../../machines/onMachine";
import type { LogReading } from "./log/scanLog";
import { scanProgram } from "./log/scanProgram";
import type { Sign } from "./log/sign";

/** How a file of the plan is found on the machine. */
export interface FileState {
  readonly role: string;
  readonly path: string;
  readonly state: "same" | "different" | "missing" | "unreadable";
}

/** With times that can be compared. */
const NEWEST_LINES = ["--no-pager", "--lines", "5000", "--output", "short-iso"];

/**
 * A boot prints hundreds of lines; fewer than these are how journalctl says that we may read none.
 */
const FEWEST_KERNEL_LINES = 5;

export const machineReaders = { of: machineReader };

/**
 * What is read of a machine beside its containers, logs by these signs; absent or "" where we may
 * not read it.
 */
function machineReader(machine: CommandPlace, signs: readonly Sign[]) {
  const files = filesOf(machine);
  const scan = (about: Pick<LogReading, "name" | "kind">, words: readonly string[]) =>
    scanProgram(about, commandOn(machine, words), signs);
  return {
    kernelLog: async () => {
      const about = { name: "the kernel's log", kind: "kernel" } as const;
      const journal = await scan(about, ["journalctl", "--dmesg", ...NEWEST_LINES]);
      if (journal !== undefined && journal.lines >= FEWEST_KERNEL_LINES) return journal;
      return scan(about, ["dmesg", "--time-format", "iso"]);
    },
    journal: (unit: string) =>
      scan({ name: `journal of ${unit}`, kind: "service" }, [
        "journalctl",
        "--unit",
        unit,
        ...NEWEST_LINES,
      ]),
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
      return {
        role,
        path,
        state: read === undefined ? "unreadable" : read === text ? "same" : "different",
      };
    },
  };
}
