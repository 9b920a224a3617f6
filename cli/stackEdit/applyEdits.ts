import { basename } from "node:path";
import { valueAt } from "@local-serving/base/faults/schemaFaults";
import { FILE_HEADERS_ONLY, formatPatch, structuredPatch } from "diff";
import {
  type Document,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  type Pair,
  parseDocument,
  stringify,
  type YAMLMap,
} from "yaml";
import { NAMESPACE } from "../../components/settings";

export interface Edit {
  /** Path below our namespace: `["machines", "dgx", "totalGiB"]`. */
  readonly path: readonly string[];
  /** What the key should hold; `undefined` removes the key. */
  readonly value?: EditValue | undefined;
}

type Plain = string | number | boolean;

export type EditValue = Plain | readonly EditValue[] | { readonly [key: string]: EditValue };

/**
 * The text of a stack file after the edits. Only the lines concerned change: comments and order
 * stay.
 */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  if (!LINE_ENDS_OF_WINDOWS.test(text)) return edits.reduce(applyEdit, text);
  return edits.reduce(applyEdit, text.replaceAll("\r\n", "\n")).replaceAll("\n", "\r\n");
}

/** A text whose every line ends as Windows ends it. */
const LINE_ENDS_OF_WINDOWS = /^(?:[^\r\n]*\r\n)+[^\r\n]*$/;

/** The document of the last text that was looked at: each edit begins with the one before. */
let known: { readonly text: string; readonly document: Document.Parsed } | undefined;

/** The document of a text, which must not be changed. */
function documentOf(text: string): Document.Parsed {
  if (known?.text !== text) known = { text, document: parseDocument(text) };
  return known.document;
}

function applyEdit(text: string, edit: Edit): string {
  const path = placeInFile(edit.path);
  if (edit.value !== undefined) return withValueAt(text, path, edit.value);
  const document = documentOf(text);
  const { map, pair } = walk(document.contents, path);
  if (pair === undefined) return text;
  const shorter = map === undefined ? undefined : withoutPair(text, map, pair);
  if (shorter !== undefined && !documentOf(shorter).hasIn(path)) return shorter;
  const changed = parseDocument(text);
  changed.deleteIn(path);
  return changed.toString({ lineWidth: 0 });
}

/** The text of any YAML file with a value at a path; only the lines concerned change. */
export function withValueAt(text: string, path: readonly string[], given: EditValue): string {
  const document = documentOf(text);
  const { map, depth, pair } = walk(document.contents, path);
  // Keys that are missing on the way become part of the value.
  const [key = "", ...missing] = path.slice(depth);
  const value = missing.reduceRight<EditValue>((inner, step) => ({ [step]: inner }), given);
  const changed =
    pair === undefined
      ? withPair(text, map, key, value)
      : withValue(text, pair, value, map?.flow === true);
  if (changed !== undefined && holds(changed, path, given)) return changed;
  const whole = parseDocument(text);
  whole.setIn(path, whole.createNode(given));
  return whole.toString({ lineWidth: 0 });
}

const placeInFile = ([first = "", ...rest]: readonly string[]): string[] => [
  "config",
  `${NAMESPACE}:${first}`,
  ...rest,
];

/**
 * The innermost map on the way, how many steps lead to it, and the pair of the last step if the
 * whole path is there.
 */
function walk(root: unknown, path: readonly string[]) {
  let map = isMap(root) ? root : undefined;
  for (let depth = 0; map !== undefined; depth++) {
    const step = path[depth];
    const pair: Pair | undefined = map.items.find(
      (item) => isNode(item.key) && String(item.key) === step,
    );
    const isLast = depth === path.length - 1;
    if (isLast || !isMap(pair?.value)) return { map, depth, pair: isLast ? pair : undefined };
    map = pair.value;
  }
  return { map, depth: 0, pair: undefined };
}

/** Where a node begins and ends. */
const spanOf = (node: unknown) => (isNode(node) ? node.range : undefined) ?? [];

/** Replaces a plain value in place. */
function withValue(
  text: string,
  pair: Pair,
  value: EditValue,
  inFlow: boolean,
): string | undefined {
  const { value: node } = pair;
  if (!isScalar(node) || isBlock(node.type) || !node.range || typeof value === "object")
    return undefined;
  return `${text.slice(0, node.range[0])}${scalar(value, inFlow)}${text.slice(node.range[1])}`;
}

/**
 * Adds a key to a map: behind the last one-line key with its indentation, else behind the last one,
 * or behind the last one between braces.
 */
function withPair(
  text: string,
  map: YAMLMap | undefined,
  key: string,
  value: EditValue,
): string | undefined {
  if (map?.flow === true) return withFlowPair(text, map, key, value);
  const neighbour = map?.items.filter(isOneLine).at(-1) ?? map?.items.at(-1);
  const at = neighbour === undefined ? undefined : lineOf(text, neighbour);
  if (at === undefined) return undefined;
  const indentation = /^ */.exec(text.slice(at.start))?.[0] ?? "";
  // Other readers of YAML make a time of a day without quotes.
  const added = stringify({ [key]: value }, { lineWidth: 0, compat: "yaml-1.1" })
    .trimEnd()
    .split("\n")
    .map((line) => `${indentation}${line}\n`)
    .join("");
  const before = text.slice(0, at.end);
  return `${before}${before.endsWith("\n") ? "" : "\n"}${added}${text.slice(at.end)}`;
}

/** `{ a: 1 }` becomes `{ a: 1, key: value }`. */
function withFlowPair(
  text: string,
  map: YAMLMap,
  key: string,
  value: EditValue,
): string | undefined {
  const written =
    typeof value === "object"
      ? stringify(value, { collectionStyle: "flow", lineWidth: 0, compat: "yaml-1.1" }).trimEnd()
      : scalar(value, true);
  const added = `${scalar(key, true)}: ${written}`;
  const last = map.items.at(-1);
  if (last !== undefined) {
    const [, end] = spanOf(last.value);
    return end === undefined ? undefined : `${text.slice(0, end)}, ${added}${text.slice(end)}`;
  }
  const [start, end] = map.range ?? [0, 0];
  if (!/^\{\s*\}$/.test(text.slice(start, end))) return undefined;
  return `${text.slice(0, start)}{ ${added} }${text.slice(end)}`;
}

/** Removes a key from between braces, with its comma. */
function withoutFlowPair(text: string, map: YAMLMap, pair: Pair): string | undefined {
  const index = map.items.indexOf(pair);
  const [before, after] = [map.items[index - 1], map.items[index + 1]];
  const from = before === undefined ? spanOf(pair.key)[0] : spanOf(before.value)[1];
  const to =
    before === undefined && after !== undefined ? spanOf(after.key)[0] : spanOf(pair.value)[1];
  return from === undefined || to === undefined
    ? undefined
    : `${text.slice(0, from)}${text.slice(to)}`;
}

/** Removes a key with its lines. */
function withoutPair(text: string, map: YAMLMap, pair: Pair): string | undefined {
  if (map.flow === true)
    return map.items.length === 1 ? undefined : withoutFlowPair(text, map, pair);
  const at = lineOf(text, pair);
  if (at === undefined) return undefined;
  const before = text.slice(0, at.start);
  if (map.items.length > 1) return `${before}${text.slice(at.end)}`;
  // Nothing behind a key would be no map.
  const emptied = before.replace(/:[ \t]*\n$/, ": {}\n");
  return emptied === before ? undefined : `${emptied}${text.slice(at.end)}`;
}

const isOneLine = ({ value }: Pair): boolean =>
  isScalar(value) && !isBlock(value.type) && !String(value.source ?? "").includes("\n");

const isBlock = (type: string | undefined): boolean =>
  type === "BLOCK_LITERAL" || type === "BLOCK_FOLDED";

/**
 * The lines of a pair, the last newline included; `undefined` if something else comes before the
 * key.
 */
function lineOf(text: string, pair: Pair): { start: number; end: number } | undefined {
  const [key] = spanOf(pair.key);
  const value = endOf(pair.value);
  if (key === undefined || value === undefined) return undefined;
  const start = text.lastIndexOf("\n", key - 1) + 1;
  const newline = text.indexOf("\n", value);
  if (text.slice(start, key).trim() !== "") return undefined;
  return { start, end: newline === -1 ? text.length : newline + 1 };
}

/** Where a value ends, comments behind it left out; `undefined` where that isn't said. */
function endOf(value: unknown): number | undefined {
  if (!isNode(value) || (isScalar(value) && isBlock(value.type))) return undefined;
  const last = isCollection(value) && value.flow !== true ? value.items.at(-1) : undefined;
  return last === undefined ? value.range?.[1] : endOf(isPair(last) ? last.value : last);
}

function holds(text: string, path: readonly string[], value: EditValue): boolean {
  const document = documentOf(text);
  if (document.errors.length > 0) return false;
  return JSON.stringify(valueAt(document.toJS(), path)) === JSON.stringify(value);
}

/** A value as YAML writes it; between braces a comma or a bracket would end it. */
function scalar(value: Plain, inFlow = false): string {
  const plain = stringify(value, { lineWidth: 0 }).trimEnd();
  return inFlow && typeof value === "string" && /^[^"'].*[,[\]{}]/.test(plain)
    ? JSON.stringify(value)
    : plain;
}

/**
 * The difference of two texts of a file as `git apply` and `patch -p1` in its folder take it; empty
 * where there is none.
 */
export function unifiedDiff(file: string, before: string, after: string): string {
  if (before === after) return "";
  const name = basename(file);
  const patch = structuredPatch(`a/${name}`, `b/${name}`, before, after, undefined, undefined, {
    context: 3,
  });
  return formatPatch(patch, FILE_HEADERS_ONLY);
}
