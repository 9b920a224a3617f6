import { readFileSync, readlinkSync } from "node:fs";

/** A process that no other can be taken for: its number is given again, but never with the same start. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start in clock ticks since boot; "" where the system does not tell, and then nothing is known of it later. */
  readonly start: string;
}

/** Position of the start in /proc/PID/stat, counted behind the program's name (proc(5): field 22). */
const START_FIELD = 19;

export function identityOf(pid: number): ProcessIdentity {
  return { pid, start: startOf(pid) ?? "" };
}

/** Whether that very process still runs; a zombie does not. */
export function stillRuns({ pid, start }: ProcessIdentity): boolean {
  return start !== "" && startOf(pid) === start;
}

function startOf(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" ? undefined : fields[START_FIELD];
}

/** Where process numbers mean what they mean here: since one boot of one kernel, in one namespace of it. */
export interface ProcessPlace {
  readonly boot: string;
  readonly namespace: string;
}

/** The place in which this program runs; `undefined` where the system has no /proc. */
export function processPlace(): ProcessPlace | undefined {
  try {
    return {
      boot: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(),
      namespace: readlinkSync("/proc/self/ns/pid"),
    };
  } catch {
    return undefined;
  }
}
