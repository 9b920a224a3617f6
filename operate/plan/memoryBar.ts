import type { Ledger } from "../../components/plan/types";

/** Columns of the bar; with the brackets it fits a terminal of 80. */
const WIDTH = 60;

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** Letter that stands for a ledger line in the bar. */
export function letterOf(index: number): string {
  return LETTERS[index % LETTERS.length] ?? "?";
}

/**
 * The machine's memory as one bar: a letter for each line of the ledger, dots for what is free. Cells are given out by
 * running totals, so the bar adds up to the sum and not to rounded parts. What exceeds the machine stands behind `|`.
 */
export function memoryBar(ledger: Ledger): string {
  const perCell = ledger.totalGiB / WIDTH;
  let used = 0;
  let bar = "";
  for (const [index, line] of ledger.lines.entries()) {
    used += line.gib;
    bar += letterOf(index).repeat(Math.max(0, Math.round(used / perCell) - bar.length));
  }
  return bar.length <= WIDTH ? `[${bar.padEnd(WIDTH, ".")}]` : `[${bar.slice(0, WIDTH)}|${bar.slice(WIDTH)}`;
}
