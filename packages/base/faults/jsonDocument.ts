import { type Location, parse, tokenize, type ValueNode } from "@humanwhocodes/momoa";
import { type Position, UnreadableInput } from "./fault";
import { jsonIn } from "./json";
import { readTextFile } from "./textFile";
import type { SourceDocument } from "./yamlDocument";

/**
 * Deepest nesting that is read: no configuration comes near it, and far deeper values exhaust other
 * code's stack.
 */
const DEEPEST_NESTING = 100;

/** A JSON document that knows the places of its values, and which keys it gives twice. */
export interface JsonDocument extends SourceDocument {
  /** Keys given more than once in one object, with the place of the later one. */
  readonly duplicates: readonly { path: readonly string[]; place: Position }[];
}

/**
 * Python writes these words for numbers that JSON lacks. JSON can't write NaN, but it can write a
 * number that is too large.
 */
const PYTHON_NUMBERS = /(?<=[:[,]\s*-?)(?:Infinity|NaN)(?=\s*[,\]}])/g;
const TOO_LARGE = "1e999";

/**
 * With `pythonNumbers`, `NaN` and `Infinity`, as Python programs write them, are read as an
 * infinite number.
 */
type JsonLeniency = { readonly pythonNumbers?: boolean };

/** Reads a JSON file. Throws `UnreadableInput` when it can't be read or isn't JSON. */
export const readJsonFile = (file: string, leniency: JsonLeniency = {}): JsonDocument =>
  parseJson(file, readTextFile(file), leniency);

/** Parses JSON text. Throws `UnreadableInput`, which never quotes the text. */
export function parseJson(file: string, source: string, leniency: JsonLeniency = {}): JsonDocument {
  const text = source.startsWith("\ufeff") ? source.slice(1) : source;
  if (text.trim() === "")
    throw new UnreadableInput(file, "the file is empty; it must hold one JSON document", START);
  const tooDeep = placeBeyond(text, DEEPEST_NESTING);
  if (tooDeep !== undefined)
    throw new UnreadableInput(file, `is nested more than ${DEEPEST_NESTING} levels deep`, tooDeep);
  const json = leniency.pythonNumbers === true ? text.replace(PYTHON_NUMBERS, TOO_LARGE) : text;
  const value = jsonIn(json);
  if (value === undefined)
    throw new UnreadableInput(file, "not valid JSON from here on", jsonSyntaxFault(json));
  let index: JsonIndex | undefined;
  const indexed = () => {
    index ??= indexJson(text);
    return index;
  };
  return {
    file,
    value,
    get duplicates() {
      return indexed().duplicates;
    },
    locate: (path, part) => placeIn(indexed().places, path, part),
  };
}

/** Places of keys and their values, by the path as `pathKey` writes it. */
export type Places = Map<string, { readonly key: Position; readonly value: Position }>;

/**
 * The place of a path or, if it is missing, of its nearest ancestor; the beginning of the file
 * without any.
 */
export function placeIn(
  places: Places,
  path: readonly PropertyKey[],
  part: "key" | "value" = "value",
): Position {
  for (let length = path.length; length >= 0; length--) {
    const found = places.get(pathKey(path.slice(0, length).map(String)));
    if (found !== undefined)
      return part === "key" && length === path.length ? found.key : found.value;
  }
  return START;
}

const START: Position = { line: 1, column: 1 };

/** A character that JSON allows in a string as an escape only; momoa takes it as it is. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are the characters that are looked for.
const CONTROL = /[\u0000-\u001f]/;

/**
 * Where text that `JSON.parse` refuses stops being JSON: its own messages don't always say, and
 * quote the text.
 */
export function jsonSyntaxFault(text: string): Position {
  try {
    parse(text);
  } catch (error) {
    // Where the text ends too early, the parser may name its beginning.
    const early = error instanceof Error && error.message.startsWith("Unexpected end");
    return early ? placeAt(text, text.length) : placeOf(error as Location);
  }
  for (const { type, loc } of tokenize(text)) {
    const control = CONTROL.exec(text.slice(loc.start.offset, loc.end.offset));
    if (type === "String" && control !== null)
      return { line: loc.start.line, column: loc.start.column + control.index };
  }
  return START;
}

interface JsonIndex {
  readonly places: Places;
  readonly duplicates: { readonly path: readonly string[]; readonly place: Position }[];
}

/**
 * Paths deeper than this are not indexed: no schema here goes so deep, and the index must stay
 * linear in size.
 */
const DEEPEST_INDEXED = 12;

/**
 * Where each key and value is. The text is JSON already; the wider mode lets `NaN` and `Infinity`
 * through.
 */
function indexJson(text: string): JsonIndex {
  const index: JsonIndex = { places: new Map(), duplicates: [] };
  const add = (node: ValueNode, path: readonly string[], key: Position, repeated: boolean) => {
    index.places.set(pathKey(path), { key, value: placeOf(node.loc.start) });
    if (path.length === DEEPEST_INDEXED) return;
    for (const { name, value, place } of childrenOf(node)) {
      const inner = [...path, name];
      const again = index.places.has(pathKey(inner));
      // If a whole block is given twice, the block is the fault, not each key in it.
      if (again && !repeated) index.duplicates.push({ path: inner, place });
      add(value, inner, place, repeated || again);
    }
  };
  add(parse(text, { mode: "json5" }).body, [], START, false);
  return index;
}

/** What a list or a map holds, with the place of each item or name. */
function childrenOf(node: ValueNode) {
  if (node.type === "Array")
    return node.elements.map(({ value }, index) => {
      return { name: String(index), value, place: placeOf(value.loc.start) };
    });
  if (node.type !== "Object") return [];
  return node.members.map(({ name, value }) => {
    const written = name.type === "String" ? name.value : name.name;
    return { name: written, value, place: placeOf(name.loc.start) };
  });
}

/** Where text opens one level more than `levels`; `undefined` when it never does. */
function placeBeyond(text: string, levels: number): Position | undefined {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === '"') at = closingQuote(text, at);
    if ("{[".includes(char)) depth += 1;
    if ("}]".includes(char)) depth -= 1;
    if (depth > levels) return placeAt(text, at);
  }
  return undefined;
}

function closingQuote(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at;
}

function placeAt(text: string, offset: number): Position {
  const lines = text.slice(0, offset).split("\n");
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}

const placeOf = ({ line, column }: Location): Position => ({ line, column });

export const pathKey = (path: readonly string[]): string => JSON.stringify(path);
