import { GATE_OPENS } from "../gateLines";

/** Texts that every line has in which a start begins. */
const LITERALS = ["start gate: open after", "non-default args: {"];

/** What vLLM prints first of its arguments, and the kind of process that prints it. */
const ARGUMENTS = /^(?:.*?\((\w+) pid=\d+\))?.*non-default args: \{/;

/**
 * Tells, line by line, where a start begins: the start gate opens, or vLLM prints its arguments
 * where no gate opened before. It does that once a start.
 */
export function startsIn(): (line: string) => boolean {
  let printedBy: string | undefined;
  let isBehindGate = false;
  return (line) => {
    if (!LITERALS.some((literal) => line.includes(literal))) return false;
    if (GATE_OPENS.test(line)) {
      [printedBy, isBehindGate] = [undefined, true];
      return true;
    }
    const match = ARGUMENTS.exec(line);
    if (match === null) return false;
    const [, process = ""] = match;
    // Several API servers of one start print the same.
    const isAnother = printedBy !== undefined && printedBy !== process;
    const begins = !isBehindGate && !isAnother;
    if (!isAnother) [printedBy, isBehindGate] = [process, false];
    return begins;
  };
}

/** Most of a line that is waited for, in bytes. */
const LINE_BYTES = 256 * 1024;

/** Where the last start of a log begins, in bytes; 0 where the log shows one start alone. */
export async function lastStartIn(chunks: AsyncIterable<Buffer>): Promise<number> {
  const begins = startsIn();
  let [last, at, rest] = [0, 0, Buffer.alloc(0)];
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([rest, chunk]);
    const end = bytes.lastIndexOf("\n") + 1;
    for (const start of linesWith(bytes.subarray(0, end))) {
      const line = bytes.toString("utf8", start, bytes.indexOf("\n", start));
      if (begins(line)) last = at + start;
    }
    // The beginning of a line waits for its rest, unless that never comes.
    const kept = Math.max(end, bytes.length - LINE_BYTES);
    rest = bytes.subarray(kept);
    at += kept;
  }
  return last;
}

/** Where the lines begin that have one of the texts, in their order. */
function linesWith(bytes: Buffer): number[] {
  const starts = new Set<number>();
  for (const literal of LITERALS)
    for (
      let found = bytes.indexOf(literal);
      found !== -1;
      found = bytes.indexOf(literal, found + 1)
    )
      starts.add(bytes.lastIndexOf("\n", found) + 1);
  return [...starts].sort((x, y) => x - y);
}
