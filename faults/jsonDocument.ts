import { type Place, UnreadableInput } from "./fault";
import { jsonSyntaxErrorOffset } from "./jsonSyntax";
import { readTextFile } from "./textFile";
import type { SourceDocument } from "./yamlDocument";

/** Deepest nesting that is read: no configuration comes near it, and far deeper values exhaust other code's stack. */
const DEEPEST_NESTING = 100;

/** A JSON document that can say where its values stand, and which keys it gives twice. */
export interface JsonDocument extends SourceDocument {
  /** Keys given more than once in one object, with the place of the later one. */
  readonly duplicates: readonly { path: readonly string[]; place: Place }[];
}

/** Python writes these where JSON has no number; JSON has none for NaN, but for one that is too large. */
const PYTHON_NUMBERS = /(?<=[:[,]\s*-?)(?:Infinity|NaN)(?=\s*[,\]}])/g;
const TOO_LARGE = "1e999";

/** What is let through besides JSON. */
export interface JsonLeniency {
  /** `NaN` and `Infinity`, as Python programs write them, are read as an infinite number. */
  readonly pythonNumbers?: boolean;
}

/** Reads a JSON file. Throws `UnreadableInput` when it can't be read or is no JSON. */
export function readJsonFile(file: string, leniency: JsonLeniency = {}): JsonDocument {
  return parseJson(file, readTextFile(file), leniency);
}

/** Parses JSON text. Throws `UnreadableInput`, which never quotes the text. */
export function parseJson(file: string, source: string, leniency: JsonLeniency = {}): JsonDocument {
  const text = source.startsWith("\ufeff") ? source.slice(1) : source;
  if (text.trim() === "")
    throw new UnreadableInput(file, "the file is empty; it must hold one JSON document", {
      line: 1,
      column: 1,
    });
  const place = placeFinder(text);
  let value: unknown;
  const json = leniency.pythonNumbers === true ? text.replace(PYTHON_NUMBERS, TOO_LARGE) : text;
  try {
    value = JSON.parse(json);
  } catch {
    throw new UnreadableInput(file, "no valid JSON from here on", place(jsonSyntaxErrorOffset(json)));
  }
  const tooDeep = offsetBeyond(text, DEEPEST_NESTING);
  if (tooDeep !== undefined)
    throw new UnreadableInput(file, `is nested more than ${DEEPEST_NESTING} levels deep`, place(tooDeep));
  let index: JsonIndex | undefined;
  const indexed = () => {
    index ??= indexJson(text);
    return index;
  };
  return {
    file,
    value,
    get duplicates() {
      const found = indexed().duplicates;
      const keys = new Set(found.map(({ path }) => pathKey(path)));
      // Of a block that is given twice the block is the fault, not each key in it.
      const outermost = found.filter(
        ({ path }) => !path.some((_, length) => keys.has(pathKey(path.slice(0, length)))),
      );
      return outermost.map(({ path, offset }) => ({ path, place: place(offset) }));
    },
    locate(path, part = "value") {
      const { offsets } = indexed();
      for (let length = path.length; length >= 0; length--) {
        const found = offsets.get(pathKey(path.slice(0, length).map(String)));
        if (found === undefined) continue;
        return place(part === "key" && length === path.length ? found.key : found.value);
      }
      return { line: 1, column: 1 };
    },
  };
}

interface JsonIndex {
  readonly offsets: Map<string, { key: number; value: number }>;
  readonly duplicates: { path: string[]; offset: number }[];
}

/** Paths deeper than this are not indexed: no schema here goes so deep, and the index must stay linear in size. */
const DEEPEST_INDEXED = 12;

/** Where each key of valid JSON stands: one pass over its tokens, with a stack instead of recursion. */
function indexJson(text: string): JsonIndex {
  const offsets: JsonIndex["offsets"] = new Map();
  const duplicates: JsonIndex["duplicates"] = [];
  const path: string[] = [];
  const frames: { list: boolean; next: number; awaitsKey: boolean }[] = [];
  let keyAt = 0;
  const token = /["{}[\],:]|[^\s{}[\],:"]+/g;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const end = match[0] === '"' ? stringEnd(text, match.index) : token.lastIndex;
    token.lastIndex = end;
    const word = text.slice(match.index, end);
    const frame = frames.at(-1);
    if (word === ":") continue;
    if (word === "}" || word === "]") {
      frames.pop();
      path.length = Math.max(0, frames.length - 1);
      continue;
    }
    if (word === ",") {
      if (frame !== undefined) frame.awaitsKey = !frame.list;
      continue;
    }
    if (frame?.awaitsKey === true) {
      path.length = frames.length - 1;
      path.push(frames.length <= DEEPEST_INDEXED ? String(JSON.parse(word)) : "");
      keyAt = match.index;
      frame.awaitsKey = false;
      if (frames.length <= DEEPEST_INDEXED && offsets.has(pathKey(path)))
        duplicates.push({ path: [...path], offset: keyAt });
      continue;
    }
    if (frame?.list === true) {
      path.length = frames.length - 1;
      path.push(String(frame.next));
      frame.next += 1;
      keyAt = match.index;
    }
    if (frames.length <= DEEPEST_INDEXED) offsets.set(pathKey(path), { key: keyAt, value: match.index });
    if (word === "{" || word === "[") frames.push({ list: word === "[", next: 0, awaitsKey: word === "{" });
  }
  return { offsets, duplicates };
}

/** Where valid JSON opens one level more than `levels`; `undefined` when it never does. */
function offsetBeyond(text: string, levels: number): number | undefined {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') at = stringEnd(text, at) - 1;
    else if (char === "{" || char === "[") {
      depth += 1;
      if (depth > levels) return at;
    } else if (char === "}" || char === "]") depth -= 1;
  }
  return undefined;
}

/** The offset behind the string that starts here; a regular expression would run out of stack on a long one. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}

function pathKey(path: readonly string[]): string {
  return JSON.stringify(path);
}

/** Turns offsets into places, from the offsets at which lines start. */
function placeFinder(text: string): (offset: number) => Place {
  let starts: number[] | undefined;
  return (offset) => {
    if (starts === undefined) {
      starts = [0];
      for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
    }
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
}
