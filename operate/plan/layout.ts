import { styleText } from "node:util";
import { Help } from "commander";
import { columns } from "../../commandLine/output";

/** Columns of the terminal that the text goes to; none where it goes to a file or a pipe, which wraps nothing. */
export type Width = number;
export const UNBOUNDED: Width = Number.POSITIVE_INFINITY;

/** Columns of where the text goes. COLUMNS says it also for a pipe. */
export function terminalWidth({ isTTY, columns }: NodeJS.WriteStream): Width {
  const said = Number(process.env.COLUMNS);
  return said > 0 ? said : isTTY ? columns : UNBOUNDED;
}

/** Fewer columns than this are no place for a sentence. */
const FEWEST_COLUMNS = 20;

/** Commander's own text wrapping: by words, and aware of colours. */
const writer = Object.assign(new Help(), { minWidthToWrap: FEWEST_COLUMNS });

/** A text behind so many columns, its further lines set in as far as the first stands. */
export function hanging(text: string, indent: number, width: Width): string {
  return Number.isFinite(width)
    ? writer.boxWrap(text, width - indent).replaceAll("\n", `\n${" ".repeat(indent)}`)
    : text;
}

/** Columns by which a cell is set in that stands below its row. */
const BELOW = 8;

/** Rows in columns, four columns in; the last one takes as many lines as it needs, below its row where there is no room. */
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

/** Every line of a text set in. */
export function indented(text: string, by = 4): string {
  return text.trimEnd().replaceAll(/^/gm, " ".repeat(by));
}

/** Title of a part of a machine's plan. */
export function heading(text: string): string {
  return `  ${styleText("cyan", text)}`;
}
