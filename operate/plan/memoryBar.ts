import type { Ledger } from "../../components/memory/ledger";
import { UNBOUNDED, type Width } from "./layout";

/** Most and fewest columns of the bar; with indentation and brackets the longest fits a terminal of 80. */
const LONGEST = 60;
const SHORTEST = 10;

/** Columns for what exceeds the machine; more is cut with a `+`. */
const BEYOND = 16;

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** The letter of a ledger line in the bar. */
export function letterOf(index: number): string {
  return LETTERS[index % LETTERS.length] ?? "?";
}

/**
 * The machine's memory as one bar: a letter for each line of the ledger, dots for what is free. Cells are given out by
 * running totals, so the bar adds up to the sum and not to rounded parts. What exceeds the machine stands behind `|`.
 */
export function memoryBar(ledger: Ledger, width: Width = UNBOUNDED): string {
  const length = Math.max(SHORTEST, Math.min(LONGEST, width - BEYOND - 4));
  const perCell = ledger.totalGiB / length;
  let used = 0;
  let bar = "";
  for (const [index, line] of ledger.lines.entries()) {
    used += line.gib;
    const cells = Math.min(Math.round(used / perCell), length + BEYOND + 1);
    bar += letterOf(index).repeat(Math.max(0, cells - bar.length));
  }
  if (bar.length <= length) return `[${bar.padEnd(length, ".")}]`;
  const beyond = bar.slice(length);
  return `[${bar.slice(0, length)}|${beyond.length <= BEYOND ? beyond : `${beyond.slice(0, BEYOND - 1)}+`}`;
}
