import {
  isMap,
  isNode,
  isPair,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  type ParsedNode,
  parseAllDocuments,
  type YAMLMap,
} from "yaml";
import { type Place, UnreadableInput } from "./fault";
import { readTextFile } from "./textFile";
import {
  aliasOfItsOwnParent,
  DEEPEST_NESTING,
  firstAliasOffset,
  firstDuplicate,
  firstTooDeepLine,
} from "./yamlTraps";

/** A YAML or JSON file as plain data that still knows the place of each value. */
export interface SourceDocument {
  readonly file: string;
  readonly value: unknown;
  /** The place of a path or, if it is missing, of its nearest ancestor. `key` points at the key itself. */
  locate(path: readonly PropertyKey[], part?: "key" | "value"): Place;
}

/** Reads a YAML or JSON file of at most 1 MiB. Throws `UnreadableInput` when it can't be read or is not YAML. */
export function readYamlFile(file: string): SourceDocument {
  return parseYaml(file, readTextFile(file));
}

/**
 * Parses YAML or JSON text. Duplicate keys, several documents and aliases that explode are refused with the place.
 * Throws `UnreadableInput`.
 */
export function parseYaml(file: string, text: string): SourceDocument {
  const lines = new LineCounter();
  const place = (offset: number): Place => {
    const at = lines.linePos(offset);
    return { line: at.line, column: at.col };
  };
  const tooDeep = firstTooDeepLine(text);
  if (tooDeep !== undefined) {
    throw new UnreadableInput(file, `nests deeper than ${DEEPEST_NESTING} levels`, {
      line: tooDeep,
      column: 1,
    });
  }
  // The library compares every key of a map with every other one; `firstDuplicate` below is linear.
  const options = { lineCounter: lines, prettyErrors: false, uniqueKeys: false, logLevel: "error" } as const;
  const documents = parseAllDocuments<ParsedNode>(text, options);
  const [document, second] = Array.isArray(documents) ? documents : [];
  if (document === undefined)
    throw new UnreadableInput(file, "the file is empty; it must hold one document", { line: 1, column: 1 });
  const [error] = document.errors;
  if (error !== undefined)
    throw new UnreadableInput(file, `no valid YAML: ${error.message}`, place(error.pos[0]));
  if (second !== undefined) {
    const start = place(second.range[0]);
    throw new UnreadableInput(file, "holds several YAML documents; one is expected", start);
  }
  const tag = document.warnings.find(({ code }) => code === "TAG_RESOLVE_FAILED");
  if (tag !== undefined) {
    const [start, end] = tag.pos;
    const reason = `no usable YAML: the tag \`${text.slice(start, end)}\` means nothing here; take it away`;
    throw new UnreadableInput(file, reason, place(start));
  }
  const circle = text.includes("*") ? aliasOfItsOwnParent(document) : undefined;
  if (circle !== undefined) {
    const reason = `no usable YAML: the alias \`${circle.source}\` is inside the node it refers to`;
    throw new UnreadableInput(file, reason, place(circle.range?.[0] ?? 0));
  }
  const duplicate = firstDuplicate(document.contents);
  if (duplicate !== undefined) {
    throw new UnreadableInput(
      file,
      `no valid YAML: the key \`${duplicate.key}\` is given twice in one map`,
      place(duplicate.offset),
    );
  }
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (failure) {
    throw new UnreadableInput(
      file,
      `no usable YAML: ${failure instanceof Error ? failure.message : String(failure)}`,
      place(firstAliasOffset(document.contents)),
    );
  }
  return {
    file,
    value,
    locate: (path, part = "value") => place(offsetOf(document.contents, path, part)),
  };
}

function offsetOf(root: Node | null, path: readonly PropertyKey[], part: "key" | "value"): number {
  let node: unknown = root;
  let offset = root?.range?.[0] ?? 0;
  for (const [index, step] of path.entries()) {
    const last = index === path.length - 1;
    if (isMap(node)) {
      const pair = pairOf(node, String(step));
      if (!isPair(pair)) return offset;
      const key = isNode(pair.key) ? (pair.key.range?.[0] ?? offset) : offset;
      const value = isNode(pair.value) ? (pair.value.range?.[0] ?? key) : key;
      offset = last && part === "key" ? key : isMap(pair.value) || isSeq(pair.value) ? key : value;
      node = pair.value;
    } else if (isSeq(node)) {
      const item: unknown = node.items[Number(step)];
      if (!isNode(item)) return offset;
      offset = item.range?.[0] ?? offset;
      node = item;
    } else return offset;
  }
  return offset;
}

/** The pairs of each map by key, kept because a file with many faults asks for many places. */
const pairsOf = new WeakMap<YAMLMap, Map<string, Pair>>();

function pairOf(map: YAMLMap, key: string): Pair | undefined {
  let pairs = pairsOf.get(map);
  if (pairs === undefined) {
    pairs = new Map(
      map.items.flatMap((item) => (isNode(item.key) ? [[String(item.key.toJSON()), item]] : [])),
    );
    pairsOf.set(map, pairs);
  }
  return pairs.get(key);
}
