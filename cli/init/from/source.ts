import { basename, dirname, join, normalize } from "node:path";
import { attempt } from "@local-serving/base/faults/defined";
import { isRecord, type JsonObject } from "@local-serving/base/faults/json";
import { readTextFile } from "@local-serving/base/faults/textFile";
import { parseYamlDocuments, type SourceDocument } from "@local-serving/base/faults/yamlDocument";
import { thousands } from "@local-serving/base/units/thousands";
import { type LineOf, linesOf } from "../command/lines";
import type { ScriptFile } from "../command/scriptState";
import { asWritten, COMMAND, expansions, type LeftOut, refuseCommand } from "../command/words";
import { pageRead } from "./page";

/** A text that somebody published. */
export interface Published {
  readonly text: string;
  /** The file that it was read from, where there is one. */
  readonly file?: string;
}

/** A published text as the kinds of files look at it. */
export interface Source {
  readonly text: string;
  /** Blocks of its page that aren't read. */
  readonly leftOut: readonly LeftOut[];
  /** How a person is told of one of its lines: `start.sh:12`. */
  place(line: number): string;
  /** Keys of its first level, where it is a map of YAML or JSON. */
  readonly keys: ReadonlySet<string>;
  /** Its documents of YAML or JSON. Throws `UnreadableInput`. */
  documents(): readonly JsonObject[];
  /** The line of a key in one of its documents, or of the nearest one around it that stands there. */
  lineAt(path: readonly PropertyKey[], document?: number): number;
  /** The line of a word. */
  readonly lineOf: LineOf;
  /**
   * The text of a file below its folder, or for a path elsewhere of the file that lies there by its
   * last part; `undefined` where it isn't there.
   */
  beside(name: string): string | undefined;
}

/** Whether `model` of a file is a map, as in other programs' files: vLLM and recipes have a name there. */
export const hasModelMap = ({ keys, documents }: Source): boolean =>
  keys.has("model") && attempt(() => isRecord(documents()[0]?.model)) === true;

/** Makes a source of a published text, without a page's fences around it. */
export function publishedSource({ text: whole, file }: Published): Source {
  const bare = withoutFences(whole.replace(/^\ufeff/, "").replaceAll("\r\n", "\n"));
  const { text, leftOut } = pageRead(bare) ?? { text: bare, leftOut: [] };
  refuseOverlong(text);
  let parsed: readonly SourceDocument[] | undefined;
  let read: readonly JsonObject[] | undefined;
  const inYaml = () => {
    parsed ??= parseYamlDocuments(COMMAND, text);
    return parsed;
  };
  return {
    text,
    leftOut,
    place: (line) => (file === undefined ? `line ${line}` : `${file}:${line}`),
    keys: keysOf(text),
    documents() {
      read ??= inYaml().map(({ value }) => merged(value));
      return read;
    },
    lineAt: (path, document = 0) => inYaml()[document]?.locate(path, "key").line ?? 1,
    lineOf: linesOf(text),
    beside(name) {
      if (file === undefined) return undefined;
      // A file of the machine's may have been brought along.
      const isElsewhere = /^[/~]/.test(name) || expansions(name).length > 0;
      return besideFile(file, isElsewhere ? basename(name) : name);
    },
  };
}

/** More words than any text that starts a server has, and more characters than one of its words. */
const [MOST_WORDS, LONGEST_WORD] = [20_000, 20_000];

/** Refuses what nobody reads through, and what would take longer than anybody waits. */
function refuseOverlong(text: string): void {
  let words = 0;
  for (const { 0: word, index } of text.matchAll(/\S+/g)) {
    const isLong = word.length > LONGEST_WORD;
    if (++words <= MOST_WORDS && !isLong) continue;
    const line = text.slice(0, index).split("\n").length;
    const what = isLong
      ? `has a word of ${thousands(word.length)} characters in line ${line}, and at most ${thousands(LONGEST_WORD)} are read`
      : `has more than ${thousands(MOST_WORDS)} words, up to line ${line}`;
    refuseCommand(`It ${what}. Give the part that starts the server alone.`);
  }
}

/** A source with the files that it writes itself: these are known wherever they are to lie. */
export function withWritten<Sought extends Pick<Source, "beside">>(
  source: Sought,
  files: readonly ScriptFile[],
): Sought {
  const named = (name: string) =>
    files.findLast(({ file = "" }) => asWritten(file) === asWritten(name));
  const called = (name: string) =>
    files.findLast(({ file = "" }) => basename(asWritten(file)) === basename(asWritten(name)));
  const beside = (name: string) => (named(name) ?? called(name))?.text ?? source.beside(name);
  return files.length === 0 ? source : { ...source, beside };
}

function besideFile(file: string, name: string): string | undefined {
  const inside = normalize(name);
  if (/^(?:\/|~|\.\.(?:\/|$))/.test(inside)) return undefined;
  return attempt(() => readTextFile(join(dirname(file), inside)));
}

/** A text between a page's fences, in the lines that it has there. */
function withoutFences(text: string): string {
  const [, before = "", fence = ""] = /^(\s*)(```|~~~)/.exec(text) ?? [];
  if (fence === "") return text;
  const [, ...lines] = text.slice(before.length).split("\n");
  const end = lines.findIndex((line) => line.trim().startsWith(fence));
  return `${before}\n${lines.slice(0, end < 0 ? undefined : end).join("\n")}`;
}

/** A key with its colon, at the beginning of a line. */
const KEY = /^([ \t]*)(?:"([^"\n]{1,80})"|'([^'\n]{1,80})'|([A-Za-z_][\w.-]{0,80})):(?=\s|$)/;
/** What may stand in front of a map: comments, and marks of a document. */
const BEFORE = /^\s*(?:#.*|---.*|\.\.\.|%YAML.*)?$/;

function keysOf(text: string): ReadonlySet<string> {
  if (/^\s*[[{]/.test(text)) return new Set(isRecordText(text));
  const keys = new Set<string>();
  let indent: string | undefined;
  for (const line of text.split("\n")) {
    if (indent === undefined && BEFORE.test(line)) continue;
    const [, before = "", ...names] = KEY.exec(line) ?? [];
    const name = names.find((each) => each !== undefined);
    // A text that begins otherwise is no map.
    if (indent === undefined && name === undefined) return keys;
    indent ??= before;
    if (name !== undefined && before === indent) keys.add(name);
  }
  return keys;
}

/** Keys of a JSON text: those of a list are those of its first object. */
function isRecordText(text: string): string[] {
  const value = attempt(() => JSON.parse(text) as unknown);
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return isRecord(first) ? Object.keys(first) : [];
}

/** A document with what its merge keys (`<<`) bring in. */
function merged(value: unknown): JsonObject {
  const done = new Map<unknown, unknown>();
  const deep = (each: unknown): unknown => {
    if (typeof each !== "object" || each === null) return each;
    const known = done.get(each);
    if (known !== undefined) return known;
    const made = Array.isArray(each) ? each.map(deep) : withMerged(each as JsonObject);
    done.set(each, made);
    return made;
  };
  const withMerged = (map: JsonObject): JsonObject => {
    const { "<<": more, ...own } = map;
    const bases = [more].flat().filter(isRecord).reverse().map(deep);
    const kept = Object.entries(own).map(([key, inner]) => [key, deep(inner)] as const);
    return Object.assign({}, ...bases, Object.fromEntries(kept)) as JsonObject;
  };
  const read = deep(value);
  return isRecord(read) ? read : Array.isArray(read) ? Object.assign({}, { items: read }) : {};
}
