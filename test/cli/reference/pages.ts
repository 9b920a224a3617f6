export interface ShownKey {
  /** Whole path, `machines.<name>.totalGiB`. */
  readonly path: string;
  /** Cells by the head of their column; a block has none. */
  readonly cells: Readonly<Record<string, string>>;
  /** The text under a block's heading, before its table. */
  readonly text: string;
}

/** The keys that a page shows: the blocks by their headings, all others by the tables' rows. */
export function shownKeys(page: string): ShownKey[] {
  const [, ...sections] = page.split(/^## /m);
  return sections.flatMap((section) => {
    const [heading = "", ...lines] = section.split("\n");
    const block = /^`(.+)`$/.exec(heading)?.[1];
    if (block === undefined && heading !== "Keys of the file itself") return [];
    const isRow = (line: string) => line.startsWith("|");
    const [head, , ...rows] = lines.filter(isRow).map(cellsOf);
    const text = lines
      .filter((line) => !isRow(line))
      .join("\n")
      .trim();
    const own: ShownKey[] = rows.map((row) => {
      const cells = Object.fromEntries((head ?? []).map((name, index) => [name, row[index] ?? ""]));
      const key = plain(cells.Key ?? "");
      return { path: block === undefined ? key : `${block}.${key}`, cells, text: "" };
    });
    return block === undefined ? own : [{ path: block, cells: {}, text }, ...own];
  });
}

/** The cells of a row; a bar within one is escaped. */
function cellsOf(line: string): string[] {
  return line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}

export function plain(cell: string): string {
  const shown = cell.replace(/^<a id="[^"]*"><\/a>/, "");
  return /^(`+) ?(.*?) ?\1$/.exec(shown)?.[2] ?? shown;
}
