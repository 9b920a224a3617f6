import { hanging, type Width } from "@local-serving/base/commandLine/layout";
import { cutTo } from "./headline";

/** A label, and lines beside it. */
export interface Row {
  readonly label: string;
  /** Each begins a line, and wraps by words. */
  readonly texts: readonly string[];
  /** Lines that it takes at most; what doesn't fit ends with `…`. */
  readonly most?: number;
  /** Each text is one line, and ends with `…` where it is longer. */
  readonly cuts?: true;
}

const INDENT = 2;
const GAP = 2;

/** Column at which the texts of some rows begin. */
export const textColumn = (rows: readonly Pick<Row, "label">[]): number =>
  INDENT + GAP + Math.max(...rows.map(({ label }) => label.length));

/** Rows below each other, their texts in one column. */
export function rowLines(rows: readonly Row[], column: number, width: Width): string[] {
  return rows.flatMap(({ label, texts, cuts, most = Number.POSITIVE_INFINITY }) => {
    const wrapped = texts.flatMap((text) =>
      cuts ? cutTo(text, width - column) : hanging(text, column, width).split(/\n */),
    );
    const shown = wrapped.slice(0, most);
    const rest = wrapped.slice(most);
    const lines =
      rest.length === 0
        ? shown
        : [...shown.slice(0, -1), cutTo(`${shown.at(-1)} ${rest.join(" ")}`, width - column)];
    return lines.map((line, at) =>
      `${" ".repeat(INDENT)}${at === 0 ? label : ""}`.padEnd(column).concat(line).trimEnd(),
    );
  });
}
