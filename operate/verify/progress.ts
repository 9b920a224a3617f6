import type { ProbeResult } from "./probe";

/** Takes the line that stands there away (ANSI: to its begin, erase). */
const CLEAR_LINE = "\r\u001b[2K";

/** Where progress is shown: stderr, in life. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** On a terminal the running probe on one line that comes and goes; elsewhere a line for each probe that ended. */
export function verifyProgress(stream: ProgressStream) {
  const terminal = stream.isTTY === true;
  return {
    starts: (name: string, target: string, about: string) => {
      if (terminal) stream.write(`${CLEAR_LINE}${`${target}: ${name} (${about}) ...`.slice(0, 100)}`);
    },
    ended: ({ name, target, status, seconds }: ProbeResult) => {
      if (terminal) stream.write(CLEAR_LINE);
      else if (status !== "skip") stream.write(`${target}: ${name} ${status} (${seconds.toFixed(1)} s)\n`);
    },
  };
}
