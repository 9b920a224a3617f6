import { stripVTControlCharacters } from "node:util";
import { Help } from "commander";
import { columns, forTerminal, styled } from "./output";
import { runsHere } from "./ownCommand";

/**
 * Columns of the terminal that the text goes to; unbounded for a file or a pipe, where nothing is
 * wrapped.
 */
export type Width = number;
export const UNBOUNDED: Width = Number.POSITIVE_INFINITY;

/** Columns of the output. COLUMNS overrides them, also for a pipe. */
export function terminalWidth({ isTTY, columns }: NodeJS.WriteStream): Width {
  const said = Number(process.env.COLUMNS);
  return said > 0 ? said : isTTY ? columns : UNBOUNDED;
}

/** Columns of help, which is wrapped also in a pipe. */
export function helpWidth(): number {
  const width = terminalWidth(process.stdout);
  return Number.isFinite(width) ? width : 80;
}

/** With fewer columns than this a sentence can't be read. */
const FEWEST_COLUMNS = 20;

/** Commander's own text wrapping: by words, and aware of colours. */
const writer = Object.assign(new Help(), {
  minWidthToWrap: FEWEST_COLUMNS,
  displayWidth: (text: string) => uncoloured(text).length,
});

/** The text without colours, as wide as it is shown. */
export const uncoloured = (text: string): string => stripVTControlCharacters(forTerminal(text));

/**
 * A text that begins at this column; its further lines are indented to the same column. Commands in
 * it are as long as they are typed here.
 */
export function hanging(text: string, indent: number, width: Width): string {
  return Number.isFinite(width)
    ? writer.boxWrap(runsHere(text), width - indent).replaceAll("\n", `\n${" ".repeat(indent)}`)
    : text;
}

/**
 * A text for this width. A line that ends a sentence ends a line here, too; what is set in columns
 * stays as it is.
 */
export function flowing(text: string, width: Width): string {
  const isSet = (line: string) => line === "" || /^ |\S {2}/.test(line);
  const lines: string[] = [];
  for (const line of text.split("\n")) {
    const before = lines.at(-1);
    if (before === undefined || isSet(before) || isSet(line) || /[.:!?]$/.test(before))
      lines.push(line);
    else lines[lines.length - 1] = `${before} ${line}`;
  }
  return lines.map((line) => (isSet(line) ? line : hanging(line, 0, width))).join("\n");
}

/**
 * A head, and below it lines that are indented by two, their wrapped ends by four; an empty line
 * stays empty.
 */
export const headed = (head: string, lines: readonly string[], width: Width = UNBOUNDED): string =>
  [head, ...lines.map((line) => line && `  ${hanging(line, 4, width)}`)].join("\n");

/** Indentation of a cell that is placed below its row. */
const BELOW = 8;

/**
 * Rows in columns, indented by four. The last cell wraps, or moves below its row if there is no
 * room beside it.
 */
export function table(rows: readonly (readonly string[])[], width: Width): string[] {
  const heads = columns(rows.map((row) => row.slice(0, -1)));
  const before = Math.max(...heads.map(({ length }) => length)) + 6;
  return rows.map((row, index) => {
    const head = `    ${heads[index]}`;
    const text = row.at(-1) ?? "";
    return width - before >= Math.min(FEWEST_COLUMNS, writer.displayWidth(text))
      ? (head.padEnd(before) + hanging(text, before, width)).trimEnd()
      : `${head}\n${" ".repeat(BELOW)}${hanging(text, BELOW, width)}`;
  });
}

export const indented = (text: string, by = 4): string =>
  text.trimEnd().replaceAll(/^/gm, " ".repeat(by));

export const heading = (text: string): string => `  ${styled("cyan", text)}`;

/** Rows in columns below their heading, and an empty line. */
export const titled = (
  title: string,
  rows: readonly (readonly string[])[],
  width: Width,
): string[] => [heading(title), ...table(rows, width), ""];
