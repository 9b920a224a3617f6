import { UnreadableInput } from "@local-serving/base/faults/fault";
import { type Meminfo, parseMeminfo } from "@local-serving/machines/memory";

/** Reads a copy of a machine's /proc/meminfo. Throws `UnreadableInput`. */
export function meminfoIn(file: string, text: string): Meminfo {
  const meminfo = parseMeminfo(text);
  if (meminfo !== undefined) return meminfo;
  const reason =
    "has no lines `MemTotal: N kB` and `MemAvailable: N kB` with the second at most the first; expected a copy of /proc/meminfo";
  throw new UnreadableInput(file, reason);
}
