/** What `/proc/PID/stat` says of a process. */
export interface ProcessStat {
  /** One letter; `Z` is a process that has ended and that nobody has waited for. */
  readonly state: string;
  /** Start time in ticks since boot: the same number means the same process. */
  readonly start: string | undefined;
}

/**
 * Position of the start time, counted behind the program's name, which may hold anything (proc(5):
 * field 22).
 */
const START_TIME_FIELD = 19;

/** Reads the text of `/proc/PID/stat`; "" for a process that isn't there. */
export function processStatIn(text: string): ProcessStat {
  const fields = text.slice(text.lastIndexOf(") ") + 2).split(" ");
  return { state: fields[0] ?? "", start: fields[START_TIME_FIELD] };
}
