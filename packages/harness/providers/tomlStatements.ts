import { attempt } from "@local-serving/base/faults/defined";
import { isRecord } from "@local-serving/base/faults/json";
import { parse } from "smol-toml";
import { LineCounter } from "yaml";

/** One header or one `key = value` of a TOML file, with where and how it is written. */
export interface TomlStatement {
  readonly kind: "table" | "table-array" | "pair";
  /** From the document's root. */
  readonly path: readonly string[];
  /** The header that a pair is under. */
  readonly header?: TomlStatement | undefined;
  /** The key or header as it is written. */
  readonly written: string;
  /** The value as it is written, without a comment behind it; empty for headers. */
  readonly value: string;
  /** The rest of the last line behind the value or header: spaces, a comment, a carriage return. */
  readonly rest: string;
  readonly line: number;
  readonly column: number;
  /** 1-based column of the value on the key's line. */
  readonly valueColumn: number;
}

/** Blanks and comments between two statements. */
const BETWEEN = /(?:[ \t\r\n]+|#[^\n]*)*/y;

/**
 * Walks through the statements of text that a TOML parser has accepted: smol-toml keeps no
 * positions, and the places are needed to report differences. On text that isn't TOML it ends
 * early, but it does end.
 */
export function* tomlStatements(text: string): Generator<TomlStatement> {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", end + 1))
    lines.addNewLine(end + 1);
  let header: TomlStatement | undefined;
  for (let at = text.startsWith("\ufeff") ? 1 : 0; ; ) {
    BETWEEN.lastIndex = at;
    const start = at + (BETWEEN.exec(text)?.[0].length ?? 0);
    const extent = extentOf(text, start);
    if (extent === undefined) return;
    const { stop, valueStart, valueStop } = extent;
    at = lineEnd(text, valueStop);
    const written = text.slice(start, stop).trim();
    const value = text.slice(valueStart, valueStop).trimEnd();
    const { line, col: column } = lines.linePos(start);
    const rest = text.slice(valueStart + value.length, at);
    const place = { written, value, rest, line, column };
    if (text[start] === "[") {
      const kind = written.startsWith("[[") ? "table-array" : "table";
      const path = keyPath(written.replace(/^\[\[?|\]\]?$/g, ""));
      header = { kind, path, ...place, valueColumn: column };
      yield header;
    } else {
      const path = [...(header?.path ?? []), ...keyPath(written)].slice(0, DEEPEST_PATH);
      yield { kind: "pair", path, header, ...place, valueColumn: column + valueStart - start };
    }
  }
}

/** Where the key or header that starts here ends, and its value begins and ends. */
function extentOf(text: string, start: number) {
  const isHeader = text[start] === "[";
  const end = plainIndex(text, start, isHeader ? "]" : "=");
  if (end === -1) return undefined;
  if (isHeader) {
    const stop = end + (text[end + 1] === "]" ? 2 : 1);
    return { stop, valueStart: stop, valueStop: stop };
  }
  let valueStart = end + 1;
  while (text[valueStart] === " " || text[valueStart] === "\t") valueStart += 1;
  return { stop: end, valueStart, valueStop: valueEnd(text, valueStart) };
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end === -1 ? text.length : end;
}

/** Behind the character that stands here, or the whole string. */
const behind = (text: string, at: number): number =>
  text[at] === '"' || text[at] === "'" ? stringEnd(text, at) : at + 1;

/** At the first such character of a line that is in no string; -1 without one. */
function plainIndex(text: string, start: number, wanted: string): number {
  for (let at = start; at < text.length && text[at] !== "\n"; at = behind(text, at))
    if (text[at] === wanted) return at;
  return -1;
}

/** Behind a value: at the comment or the line's end that follows it. */
function valueEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; ) {
    const char = text.charAt(at);
    if (depth === 0 && "#\n".includes(char)) return at;
    if ("[{".includes(char)) depth += 1;
    if ("]}".includes(char)) depth -= 1;
    at = char === "#" && depth > 0 ? lineEnd(text, at) : behind(text, at);
  }
  return text.length;
}

/** Behind the string that starts here, of one line or of several, with escapes or literal. */
function stringEnd(text: string, start: number): number {
  const quote = text.charAt(start);
  const isMulti = text.startsWith(quote.repeat(3), start);
  const closing = isMulti ? quote.repeat(3) : quote;
  let at = start + closing.length;
  while (at < text.length && !text.startsWith(closing, at) && (isMulti || text[at] !== "\n"))
    at += quote === '"' && text[at] === "\\" ? 2 : 1;
  at += closing.length;
  // Up to two quotes may come before the closing ones.
  while (isMulti && text[at] === quote) at += 1;
  return at;
}

/** Deeper than a profile ever goes: the path of a pair is cut, so that its places stay small. */
export const DEEPEST_PATH = 8;

/** Longest key or header, in characters, that is taken apart; no profile has one nearly as long. */
export const LONGEST_KEY = 1000;

/** The parts of a key, as the parser takes it. */
function keyPath(written: string): string[] {
  const parts: string[] = [];
  let inner =
    written.length > LONGEST_KEY ? undefined : attempt(() => parse(`${written} = 0`) as unknown);
  while (isRecord(inner)) {
    const [part = ""] = Object.keys(inner);
    parts.push(part);
    inner = inner[part];
  }
  return parts.length > 0 ? parts : [written];
}
