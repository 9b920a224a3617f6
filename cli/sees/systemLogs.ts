import { type CommandPlace, commandOn } from "@local-serving/machines/onMachine";
import type { LogReading } from "./log/scanLog";
import { scanProgram } from "./log/scanProgram";
import type { Sign } from "./log/sign";

/** The logs of a machine beside those of its containers; `undefined` where we may read none. */
export interface SystemLogs {
  /** Looks for these signs in the kernel's log. */
  kernelLog(signs: readonly Sign[]): Promise<LogReading | undefined>;
  /** Looks for these signs in what systemd keeps of a unit, or of one of the user's own. */
  journal(unit: string, signs: readonly Sign[], of?: "user"): Promise<LogReading | undefined>;
}

/** With times that can be compared. */
const NEWEST_LINES = ["--no-pager", "--lines", "5000", "--output", "short-iso"];

/**
 * A boot prints hundreds of lines; fewer than these are how journalctl says that we may read none.
 */
const FEWEST_KERNEL_LINES = 5;

export function systemLogsOn(machine: CommandPlace): SystemLogs {
  const scan = (
    about: Pick<LogReading, "name" | "kind">,
    words: readonly string[],
    signs: readonly Sign[],
  ) => scanProgram(about, commandOn(machine, words), signs);
  return {
    kernelLog: async (signs) => {
      const about = { name: "the kernel's log", kind: "kernel" } as const;
      const journal = await scan(about, ["journalctl", "--dmesg", ...NEWEST_LINES], signs);
      if (journal !== undefined && journal.lines >= FEWEST_KERNEL_LINES) return journal;
      return scan(about, ["dmesg", "--time-format", "iso"], signs);
    },
    journal: (unit, signs, of) => {
      const about = { name: `journal of ${unit}`, kind: "service" } as const;
      const whose = of === undefined ? [] : [`--${of}`];
      return scan(about, ["journalctl", ...whose, "--unit", unit, ...NEWEST_LINES], signs);
    },
  };
}
