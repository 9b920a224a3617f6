import { stripVTControlCharacters } from "node:util";
import { pause, untilInterrupted } from "@local-serving/base/commandLine/interrupt";
import { forTerminal } from "@local-serving/base/commandLine/output";
import { Failed } from "@local-serving/base/faults/fault";

/** How long a screen and the way to it take. */
interface Pace {
  /** Milliseconds from the beginning of a look to the next. */
  readonly every: number;
  /** Milliseconds after which a look that has no end is told. */
  readonly late: number;
}

const PACE: Pace = { every: 2000, late: 5000 };

/** Looks that take as long as their turn would leave the machine no rest. */
const LEAST_PAUSE = 500;

/** ANSI: erases to the end of the line, everything below, and the whole screen. */
const [ERASE_LINE, ERASE_BELOW, ERASE_ALL] = ["\u001b[K", "\u001b[J", "\u001b[H\u001b[J"];

/** Where screens are shown, such as stdout. */
interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

/**
 * Shows what `look` says until the interrupt. On a terminal each screen is drawn over the last one,
 * line by line, so that nothing flickers; elsewhere they follow each other, an empty line between.
 * A look that fails is shown, and the next one comes in its turn; only the first must succeed.
 */
export async function watch(
  look: () => Promise<string>,
  screen: Screen,
  interrupt: AbortSignal,
  { every, late }: Pace = PACE,
): Promise<void> {
  const show = screen.isTTY === true ? drawnOn(screen) : writtenTo(screen);
  let last: string | undefined;
  const sayLate = () => {
    if (screen.isTTY === true && last !== undefined)
      show(`${last}\nNo answer for ${late / 1000} s: this is what was seen before.`);
  };
  while (!interrupt.aborted) {
    const began = Date.now();
    const timer = setTimeout(sayLate, late);
    const looking = last === undefined ? look() : look().catch(failure);
    const seen = await untilInterrupted(looking, interrupt).finally(() => clearTimeout(timer));
    if (seen === undefined) return;
    last = forTerminal(seen);
    show(last);
    await pause(Math.max(every - (Date.now() - began), Math.min(every, LEAST_PAUSE)), interrupt);
  }
}

/** What is said of a look that failed. */
function failure(error: unknown): string {
  if (error instanceof Failed) return error.message;
  throw error;
}

function writtenTo(screen: Screen): (text: string) => void {
  let before = "";
  return (text) => {
    screen.write(`${before}${text}\n`);
    before = "\n";
  };
}

/** Draws a screen over the last one. */
function drawnOn(screen: Screen): (text: string) => void {
  let drawn = 0;
  let size = "";
  return (text) => {
    const { columns = 80, rows = 24 } = screen;
    // In a window of another size the lines are broken elsewhere, and the last screen begins nowhere.
    const isResized = size !== "" && size !== `${columns}x${rows}`;
    const up = drawn === 0 ? "" : `\u001b[${drawn}A\r`;
    // The cursor stays on the line below: a full screen would scroll.
    const shown = atMost(
      rows - 1,
      text.split("\n").flatMap((line) => folded(line, columns)),
    ).map((line) => cut(line, columns));
    const lines = shown.map((line) => `${line}${ERASE_LINE}\n`).join("");
    screen.write(`${isResized ? ERASE_ALL : up}${lines}${ERASE_BELOW}`);
    drawn = shown.length;
    size = `${columns}x${rows}`;
  };
}

/** Lines for a window that may be too low, and how many it has no room for. */
function atMost(most: number, lines: readonly string[]): readonly string[] {
  if (lines.length <= most) return lines;
  const room = Math.max(0, most - 1);
  return [...lines.slice(0, room), `… ${lines.length - room} more lines`];
}

/** A line as long as the window is wide, and the rest of it below; it loses its colours then. */
function folded(line: string, columns: number, further?: string): string[] {
  const plain = stripVTControlCharacters(line);
  if (plain.length <= columns) return [line];
  const indent = further ?? " ".repeat(plain.search(/\S/) + 2);
  const end = plain.lastIndexOf(" ", columns);
  // Words that are wider than the window are cut.
  if (end <= indent.length) return [line];
  const rest = plain.slice(end).trimStart();
  return [plain.slice(0, end).trimEnd(), ...folded(`${indent}${rest}`, columns, indent)];
}

/** A line that fits: one that is cut loses its colours. */
function cut(line: string, columns: number): string {
  const plain = stripVTControlCharacters(line);
  return plain.length <= columns ? line : `${plain.slice(0, columns - 1)}…`;
}
