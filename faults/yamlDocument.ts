import * as yaml from "yaml";
import { type Place, UnreadableInput } from "./fault";
import { readTextFile } from "./textFile";

/** A YAML or JSON file as plain data that still knows the place of each value. */
export interface SourceDocument {
  readonly file: string;
  readonly value: unknown;
  /** The place of a path or, if it is missing, of its nearest ancestor. `key` points at the key itself. */
  locate(path: readonly PropertyKey[], part?: "key" | "value"): Place;
}

/** Reads a YAML or JSON file of at most 1 MiB. Throws `UnreadableInput` when it can't be read or is not YAML. */
export const readYamlFile = (file: string): SourceDocument => parseYaml(file, readTextFile(file));

/**
 * Parses YAML or JSON text. Duplicate keys, several documents and aliases that explode are refused with the place.
 * Throws `UnreadableInput`.
 */
export function parseYaml(file: string, text: string): SourceDocument {
  const lines = new yaml.LineCounter();
  const place = (offset: number): Place => {
    const { line, col: column } = lines.linePos(offset);
    return { line, column };
  };
  const tooDeep = firstTooDeepLine(text);
  if (tooDeep !== undefined)
    throw new UnreadableInput(file, `nests deeper than ${DEEPEST_NESTING} levels`, { line: tooDeep, column: 1 });
  // The library compares every key of a map with every other one; `firstDuplicate` below is linear.
  const options = { lineCounter: lines, prettyErrors: false, uniqueKeys: false, logLevel: "error" } as const;
  const documents = yaml.parseAllDocuments<yaml.ParsedNode>(text, options);
  const [document, second] = Array.isArray(documents) ? documents : [];
  if (document === undefined)
    throw new UnreadableInput(file, "the file is empty; it must hold one document", { line: 1, column: 1 });
  const refused = (reason: string, offset = 0) => new UnreadableInput(file, reason, place(offset));
  const [error] = document.errors;
  if (error !== undefined) throw refused(`not valid YAML: ${error.message}`, error.pos[0]);
  if (second !== undefined) throw refused("holds several YAML documents; one is expected", second.range[0]);
  const tag = document.warnings.find(({ code }) => code === "TAG_RESOLVE_FAILED")?.pos;
  if (tag !== undefined)
    throw refused(`unusable YAML: the tag \`${text.slice(...tag)}\` means nothing here; remove it`, tag[0]);
  // The data of an alias inside the node that it refers to would never end.
  const isCircle = (node: yaml.Scalar | yaml.Alias, parents: readonly unknown[]) =>
    yaml.isAlias(node) && parents.includes(node.resolve(document));
  const circle = text.includes("*") ? firstLeaf(document, isCircle) : undefined;
  if (circle !== undefined)
    throw refused(`unusable YAML: the alias \`${circle.source}\` is inside the node it refers to`, circle.range?.[0]);
  const twice = firstDuplicate(document);
  if (twice !== undefined)
    throw refused(`not valid YAML: the key \`${twice.key}\` is given twice in one map`, twice.offset);
  const octal = firstLeaf(document, hasLeadingZero);
  if (octal !== undefined) {
    const number = octal.source?.replace(/^([-+]?)0+(?=\d)/, "$1");
    const reason = `\`${octal.source}\` begins with a zero, which makes it another number for some readers of YAML: write \`${number}\`, or put it in quotes where it is text`;
    throw refused(reason, octal.range?.[0]);
  }
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (failure) {
    const reason = `unusable YAML: ${failure instanceof Error ? failure.message : String(failure)}`;
    // Aliases are what makes a text explode.
    throw refused(reason, firstLeaf(document, yaml.isAlias)?.range?.[0]);
  }
  return { file, value, locate: (path, part = "value") => place(offsetOf(document.contents, path, part)) };
}

/** The first scalar or alias that is as asked, in the order of the text; `parents` are the nodes that it is inside of. */
function firstLeaf(
  document: yaml.Document,
  isMeant: (node: yaml.Scalar | yaml.Alias, parents: readonly unknown[]) => boolean,
) {
  let found: yaml.Scalar | yaml.Alias | undefined;
  const look = (_: unknown, node: yaml.Scalar | yaml.Alias, parents: readonly unknown[]) => {
    if (!isMeant(node, parents)) return undefined;
    found = node;
    return yaml.visit.BREAK;
  };
  yaml.visit(document, { Scalar: look, Alias: look });
  return found;
}

/** Whether a node is a whole number that is written with a leading zero. */
const hasLeadingZero = (node: yaml.Scalar | yaml.Alias) =>
  yaml.isScalar(node) && typeof node.value === "number" && /^[-+]?0\d+$/.test(node.source ?? "");

function offsetOf(root: yaml.Node | null, path: readonly PropertyKey[], part: "key" | "value"): number {
  let node: unknown = root;
  let offset = root?.range?.[0] ?? 0;
  for (const [index, step] of path.entries()) {
    const last = index === path.length - 1;
    if (yaml.isMap(node)) {
      const pair = pairOf(node, String(step));
      if (!yaml.isPair(pair)) return offset;
      const key = yaml.isNode(pair.key) ? (pair.key.range?.[0] ?? offset) : offset;
      const value = yaml.isNode(pair.value) ? (pair.value.range?.[0] ?? key) : key;
      offset = last && part === "key" ? key : yaml.isMap(pair.value) || yaml.isSeq(pair.value) ? key : value;
      node = pair.value;
    } else if (yaml.isSeq(node)) {
      const item: unknown = node.items[Number(step)];
      if (!yaml.isNode(item)) return offset;
      offset = item.range?.[0] ?? offset;
      node = item;
    } else return offset;
  }
  return offset;
}

/** The pairs of each map by key, kept because a file with many faults asks for many places. */
const pairsOf = new WeakMap<yaml.YAMLMap, Map<string, yaml.Pair>>();

function pairOf(map: yaml.YAMLMap, key: string): yaml.Pair | undefined {
  let pairs = pairsOf.get(map);
  if (pairs === undefined) {
    pairs = new Map(map.items.flatMap((item) => (yaml.isNode(item.key) ? [[String(item.key.toJSON()), item]] : [])));
    pairsOf.set(map, pairs);
  }
  return pairs.get(key);
}

/** Deepest nesting that is read: no configuration comes near it, and far deeper text exhausts a parser's stack. */
const DEEPEST_NESTING = 200;

/**
 * The 1-based line at which text certainly nests too deep, found without parsing it: brackets that are open, or block
 * indicators and spaces in front of a line's first word. Brackets inside quotes count too, which no real file notices.
 */
function firstTooDeepLine(text: string): number | undefined {
  let open = 0;
  for (const [index, line] of text.split("\n").entries()) {
    const indicators = /^(?:[ \t]*(?:[-?:](?=[ \t])|[&!][^ \t]*))*/.exec(line)?.[0].match(/[-?:](?=[ \t])/g);
    if ((indicators?.length ?? 0) > DEEPEST_NESTING) return index + 1;
    for (let at = 0; at < line.length; at++) {
      const letter = line[at];
      if (letter === "[" || letter === "{") open += 1;
      else if (letter === "]" || letter === "}") open = Math.max(0, open - 1);
      if (open > DEEPEST_NESTING) return index + 1;
    }
  }
  return undefined;
}

/** The first key, in the order of the text, that its map has already. */
function firstDuplicate(document: yaml.Document): { key: string; offset: number } | undefined {
  let found: { key: string; offset: number } | undefined;
  yaml.visit(document, {
    Map: (_, { items }) => {
      const seen = new Set<string>();
      for (const { key } of items) {
        if (!yaml.isNode(key)) continue;
        const name = String(key.toJSON());
        if (seen.has(name)) {
          found = { key: name, offset: key.range?.[0] ?? 0 };
          return yaml.visit.BREAK;
        }
        seen.add(name);
      }
      return undefined;
    },
  });
  return found;
}
