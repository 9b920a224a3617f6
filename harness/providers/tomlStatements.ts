import { parse } from "smol-toml";
import { LineCounter } from "yaml";
import { attempt } from "../../faults/defined";
import { isRecord } from "../../faults/json";

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
  for (let at = text.startsWith("\ufeff") ? 1 : 0; at < text.length; ) {
    const start = at;
    if (text[start] === "#") at = lineEnd(text, start);
    else if (/[ \t\r\n]/.test(text[start] ?? "")) at += 1;
    else {
      const isHeader = text[start] === "[";
      const end = plainIndex(text, start, isHeader ? "]" : "=");
      if (end === -1) return;
      // Behind the last bracket of a header, at the `=` behind a key.
      const stop = isHeader ? end + (text[end + 1] === "]" ? 2 : 1) : end;
      let valueStart = isHeader ? stop : stop + 1;
      while (!isHeader && (text[valueStart] === " " || text[valueStart] === "\t")) valueStart += 1;
      const valueStop = isHeader ? stop : valueEnd(text, valueStart);
      at = lineEnd(text, valueStop);
      const written = text.slice(start, stop).trim();
      const value = text.slice(valueStart, valueStop).trimEnd();
      const { line, col: column } = lines.linePos(start);
      const rest = text.slice(valueStart + value.length, at);
      const place = { written, value, rest, line, column };
      if (isHeader) {
        const path = keyPath(written.replace(/^\[\[?|\]\]?$/g, ""));
        header = {
          kind: written.startsWith("[[") ? "table-array" : "table",
          path,
          ...place,
          valueColumn: column,
        };
        yield header;
      } else {
        const path = [...(header?.path ?? []), ...keyPath(written)].slice(0, DEEPEST_PATH);
        yield { kind: "pair", path, header, ...place, valueColumn: column + valueStart - start };
      }
    }
  }
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end === -1 ? text.length : end;
}

/** At the first such character of a line that is in no string; -1 without one. */
function plainIndex(text: string, start: number, wanted: string): number {
  for (let at = start; at < text.length && text[at] !== "\n"; ) {
    const char = text[at];
    if (char === '"' || char === "'") at = stringEnd(text, at);
    else if (char === wanted) return at;
    else at += 1;
  }
  return -1;
}

/** Behind a value: at the comment or the line's end that follows it. */
function valueEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; ) {
    const char = text[at];
    if (char === '"' || char === "'") at = stringEnd(text, at);
    else if (char === "#" && depth > 0) at = lineEnd(text, at);
    else if (depth === 0 && (char === "#" || char === "\n")) return at;
    else {
      if (char === "[" || char === "{") depth += 1;
      if (char === "]" || char === "}") depth -= 1;
      at += 1;
    }
  }
  return text.length;
}

/** Behind the string that starts here, of one line or of several, with escapes or literal. */
function stringEnd(text: string, start: number): number {
  const quote = text[start] ?? '"';
  const multi = quote.repeat(3);
  if (text.startsWith(multi, start)) {
    let at = start + 3;
    while (at < text.length && !text.startsWith(multi, at))
      at += quote === '"' && text[at] === "\\" ? 2 : 1;
    at += 3;
    // Up to two quotes may come before the closing ones.
    while (text[at] === quote) at += 1;
    return at;
  }
  let at = start + 1;
  while (at < text.length && text[at] !== quote && text[at] !== "\n")
    at += quote === '"' && text[at] === "\\" ? 2 : 1;
  return at + 1;
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
