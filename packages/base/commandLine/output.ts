import { styleText } from "node:util";
import { Option } from "commander";
import { plainJson, plainText } from "../faults/plainText";
import { withoutKeys } from "../faults/secrets";
import { runsHere, throughNpx } from "./ownCommand";

/**
 * `text` is for people, `json` is one document on stdout with nothing else there, `markdown` is for
 * a review.
 */
export type Format = "text" | "json" | "markdown";

/** The `--format` option that every command has. */
export const formatOption = (formats: readonly Format[] = ["text", "json"]): Option =>
  new Option("--format <format>", "how to print the result").choices(formats).default("text");

/**
 * Version of what commands print as JSON. It is raised when a key goes or changes its meaning; keys
 * are added without that.
 */
const OUTPUT_VERSION = 1;

/** Writes a command's result to stdout; empty text writes nothing. */
export function printResult(format: Format, result: object | undefined, text: string): void {
  const out =
    format === "json"
      ? plainJson({ version: OUTPUT_VERSION, ...result })
      : // A review is read in any folder of the project.
        forTerminal(format === "markdown" ? throughNpx(text) : runsHere(text));
  if (out === "") return;
  process.stdout.write(out.endsWith("\n") ? out : `${out}\n`);
}

/**
 * Ends this process once its output is written, however late it is read. Left to itself, Node tidies
 * up first, which takes a tenth of a command's time and is of use to nobody.
 */
export async function endWhenWritten(): Promise<never> {
  await Promise.all([process.stdout, process.stderr].map(written));
  return process.exit();
}

/**
 * Never resolves where stdout can't be written: whoever hears of its error ends the process. What
 * nobody reads of stderr is written for nobody.
 */
const written = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) =>
    stream.write("", (error) => {
      if (!error || stream === process.stderr) resolve();
    }),
  );

/** Clears the terminal's current line (ANSI: to its beginning, erase). */
export const CLEAR_LINE = "\r\u001b[2K";

/** Where progress is shown, such as stderr. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Writes a message for a person to stderr, so that stdout stays a document. */
export function say(message: string): void {
  process.stderr.write(`${forTerminal(runsHere(message))}\n`);
}

/**
 * Stands for ESC in a style of ours, until the text is written: no text that we print has it, since
 * it is no character.
 */
const OUR_ESCAPE = "\ufdd0";
const OUR_STYLE = /\ufdd0(?=\[(?:1|2|22|31|32|33|36|39)m)/g;

/** The text in a style, where the terminal has any. */
export const styled = (
  style: "bold" | "dim" | "red" | "green" | "yellow" | "cyan",
  text: string,
): string => styleText(style, plainText(text)).replaceAll("\u001b", OUR_ESCAPE);

/**
 * The text as a terminal may get it: styles of ours, no key, and no control code of a server, a log
 * or a file.
 */
export const forTerminal = (text: string): string =>
  withoutKeys(plainText(text)).replace(OUR_STYLE, "\u001b");

/**
 * Rows in columns as wide as their widest cell, the last one excepted. `numbers` are right-aligned,
 * but for the first column.
 */
export function columns(rows: readonly (readonly string[])[], { numbers = false } = {}): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map((row) => {
    const cells = row.map((cell, column) => {
      const width = column === row.length - 1 ? 0 : (widths[column] ?? 0);
      return numbers && column > 0 ? cell.padStart(width) : cell.padEnd(width);
    });
    return cells.join("  ").trimEnd();
  });
}
