import { stripVTControlCharacters } from "node:util";
import { pause, untilInterrupted } from "../../commandLine/interrupt";
import { forTerminal } from "../../commandLine/output";

/** Milliseconds between two screens. */
const EVERY = 2000;

/** ANSI: erases to the end of the line, and everything below. */
const [ERASE_LINE, ERASE_BELOW] = ["\u001b[K", "\u001b[J"];

/** Where screens are shown, such as stdout. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

/**
 * Shows what `look` says until the interrupt. On a terminal each screen is drawn over the last one,
 * line by line, so that nothing flickers; elsewhere they follow each other, an empty line between.
 */
export async function watch(
  look: () => Promise<string>,
  screen: Screen,
  interrupt: AbortSignal,
  every = EVERY,
): Promise<void> {
  let drawn = 0;
  for (let first = true; !interrupt.aborted; first = false) {
    const seen = await untilInterrupted(look(), interrupt);
    if (seen === undefined) return;
    const text = forTerminal(seen);
    if (screen.isTTY === true) drawn = draw(text.split("\n"), screen, drawn);
    else screen.write(`${first ? "" : "\n"}${text}\n`);
    await pause(every, interrupt);
  }
}

/** Draws lines over those of the last screen, and returns how many there are now. */
function draw(lines: readonly string[], screen: Screen, before: number): number {
  const { columns = 80, rows = 24 } = screen;
  // The cursor stays on the line below: a full screen would scroll.
  const shown = lines.slice(0, Math.max(1, rows - 1)).map((line) => cut(line, columns));
  const up = before === 0 ? "" : `\u001b[${before}A\r`;
  screen.write(`${up}${shown.map((line) => `${line}${ERASE_LINE}\n`).join("")}${ERASE_BELOW}`);
  return shown.length;
}

/** A line that fits: one that is cut loses its colours. */
function cut(line: string, columns: number): string {
  const plain = stripVTControlCharacters(line);
  return plain.length <= columns ? line : `${plain.slice(0, columns - 1)}…`;
}
