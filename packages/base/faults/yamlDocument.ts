import * as yaml from "yaml";
import { type Position, UnreadableInput } from "./fault";
import { readTextFile } from "./textFile";
import { lexemesOf } from "./yamlText";

/** A YAML or JSON file as plain data that still knows the place of each value. */
export interface SourceDocument {
  readonly file: string;
  readonly value: unknown;
  /**
   * The place of a path or, if it is missing, of its nearest ancestor. `key` points at the key
   * itself.
   */
  locate(path: readonly PropertyKey[], part?: "key" | "value"): Position;
}

/**
 * Reads a YAML or JSON file of at most 1 MiB. Throws `UnreadableInput` when it can't be read or is
 * not YAML.
 */
export const readYamlFile = (file: string): SourceDocument => parseYaml(file, readTextFile(file));

/**
 * Parses YAML or JSON text. Duplicate keys, several documents and aliases that explode are refused
 * with the place. Throws `UnreadableInput`.
 */
export const parseYaml = (file: string, text: string): SourceDocument => parsePart(file, text, 0);

/** Parses a part of a text, with so many lines before it. */
function parsePart(file: string, text: string, before: number): SourceDocument {
  const lines = new yaml.LineCounter();
  const place = (offset: number): Position => {
    const { line, col: column } = lines.linePos(offset);
    return { line: line + before, column };
  };
  const [document, second] = parsed(readableLexemes(file, text), lines);
  if (document === undefined)
    throw new UnreadableInput(file, "the file is empty; it must hold one document", {
      line: 1,
      column: 1,
    });
  const found = oddities(document);
  const refusal = syntaxRefusal(document, second, text) ?? oddityRefusal(found);
  if (refusal !== undefined)
    throw new UnreadableInput(file, refusal.reason, place(refusal.offset ?? 0));
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (failure) {
    const said = failure instanceof Error ? failure.message : String(failure);
    // A password may begin with `*`, as an alias does, whose name stands at its end.
    const reason = `unusable YAML: ${said.replace(/^(Unresolved alias[^:]*): .*/, "$1")}`;
    // Aliases are what makes a text explode.
    throw new UnreadableInput(file, reason, place(found.alias?.range?.[0] ?? 0));
  }
  return {
    file,
    value,
    locate: (path, part = "value") => place(offsetOf(document.contents, path, part)),
  };
}

function readableLexemes(file: string, text: string): readonly string[] {
  const lexemes = lexemesOf(text);
  if ("reason" in lexemes) throw new UnreadableInput(file, lexemes.reason, lexemes.place);
  return lexemes;
}

/** Most documents of one text: a manifest has a few dozen. */
const MOST_DOCUMENTS = 200;

/**
 * Parses a text of several YAML documents, each by `parseYaml` and with places in the whole text;
 * empty ones are left out. Throws `UnreadableInput`.
 */
export function parseYamlDocuments(file: string, text: string): readonly SourceDocument[] {
  readableLexemes(file, text);
  const lines = text.split("\n");
  // In no other place may these stand at a line's beginning.
  const marks = lines.flatMap((line, index) =>
    /^(?:---|\.\.\.)(?=\s|$)/.test(line) ? [index] : [],
  );
  if (marks.length > MOST_DOCUMENTS)
    throw new UnreadableInput(file, `holds more than ${MOST_DOCUMENTS} YAML documents`);
  return [0, ...marks].flatMap((from, index) => {
    const own = lines.slice(from, marks[index]);
    if (index > 0) own[0] = "   ";
    if (own.every((line) => /^\s*(?:#.*)?$/.test(line))) return [];
    return parsePart(file, own.join("\n"), from);
  });
}

/** Why a document is not read; without an offset it is refused at its beginning. */
interface Refusal {
  readonly reason: string;
  readonly offset: number | undefined;
}

function syntaxRefusal(
  { errors, warnings }: yaml.Document.Parsed,
  second: yaml.Document.Parsed | undefined,
  text: string,
): Refusal | undefined {
  const [error] = errors;
  if (error !== undefined)
    return { reason: `not valid YAML: ${error.message}`, offset: error.pos[0] };
  if (second !== undefined)
    return { reason: "holds several YAML documents; one is expected", offset: second.range[0] };
  const tag = warnings.find(({ code }) => code === "TAG_RESOLVE_FAILED")?.pos;
  if (tag === undefined) return undefined;
  const reason = `unusable YAML: the tag \`${text.slice(...tag)}\` has no meaning here; remove it`;
  return { reason, offset: tag[0] };
}

/**
 * Returns the first reason to refuse what the library would read: too many aliases, or no plain
 * data.
 */
function oddityRefusal(found: Oddities): Refusal | undefined {
  const { circle, collectionKey, twice, octal, tooMany } = found;
  const refused = (node: yaml.Node, reason: string) => ({ reason, offset: node.range?.[0] });
  if (tooMany !== undefined)
    return refused(tooMany, `unusable YAML: it has more than ${MOST_ALIASES} aliases`);
  if (circle !== undefined)
    return refused(
      circle,
      `unusable YAML: the alias \`${circle.source}\` is inside the node it refers to`,
    );
  if (collectionKey !== undefined)
    return refused(
      collectionKey,
      "unusable YAML: a key must be text, but this one is a list or a map",
    );
  if (twice !== undefined)
    return refused(twice, `not valid YAML: the key \`${twice.value}\` is given twice in one map`);
  if (octal === undefined) return undefined;
  const { source = "" } = octal;
  const isShort = source.length <= SHOWN_DIGITS;
  const number = isShort ? `\`${source.replace(/^([-+]?)0+(?=\d)/, "$1")}\`` : "it without";
  const what = isShort ? `\`${source}\`` : "this number";
  return refused(
    octal,
    `${what} begins with a zero, so some YAML readers read another number: write ${number}, or put it in quotes if it is text`,
  );
}

/** Most digits of a number that is quoted, as a window in tokens has: more may be a password. */
const SHOWN_DIGITS = 7;

/** The documents of a text that is taken apart into its lexemes. */
function parsed(
  lexemes: readonly string[],
  lineCounter: yaml.LineCounter,
): readonly yaml.Document.Parsed[] {
  const composer = new yaml.Composer({
    // The library compares every key of a map with every other one; `oddities` does it in one pass.
    uniqueKeys: false,
    // `!!omap`, `!!set` and the like make objects in which a schema finds no keys, so no faults.
    resolveKnownTags: false,
    logLevel: "error",
  });
  const { stackTraceLimit } = Error;
  // The library makes an error for each fault, and their stack traces would take longer than all
  // the rest.
  Error.stackTraceLimit = 0;
  try {
    return [...composer.compose(tokensOf(lexemes, lineCounter))];
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function* tokensOf(lexemes: readonly string[], { addNewLine }: yaml.LineCounter) {
  const parser = new yaml.Parser(addNewLine);
  addNewLine(0);
  for (const lexeme of lexemes) yield* parser.next(lexeme);
  yield* parser.end();
}

/** The first node of each kind that is refused or asked for, in the order of the text. */
interface Oddities {
  /** An alias inside the node that it refers to: its data would never end. */
  circle?: yaml.Alias;
  /** A key that its map has already. */
  twice?: yaml.Scalar;
  /** A whole number with a leading zero. */
  octal?: yaml.Scalar;
  /** A key that is a list or a map itself. */
  collectionKey?: yaml.Node;
  alias?: yaml.Alias;
  /** The first alias too many. */
  tooMany?: yaml.Alias;
}

/** Most aliases that are read, since the library searches the whole document for each. */
const MOST_ALIASES = 1000;

/**
 * Looks at each node once: the library's own `Alias.resolve` goes through the document for each
 * alias.
 */
function oddities(document: yaml.Document): Oddities {
  const found: Oddities = {};
  let aliases = 0;
  const anchored = new Map<string, yaml.Node>();
  const anchor = (node: yaml.Node & { anchor?: string | undefined }) => {
    if (node.anchor !== undefined) anchored.set(node.anchor, node);
  };
  yaml.visit(document, {
    Seq: (_, node) => anchor(node),
    Scalar: (_, node) => {
      anchor(node);
      if (hasLeadingZero(node)) found.octal ??= node;
    },
    Alias: (_, node, parents) => {
      found.alias ??= node;
      if (++aliases > MOST_ALIASES) found.tooMany ??= node;
      if (parents.some((parent) => parent === anchored.get(node.source))) found.circle ??= node;
    },
    Pair: (_, { key }) => {
      if (yaml.isCollection(key)) found.collectionKey ??= key;
    },
    Map: (_, node) => {
      anchor(node);
      const twice = repeatedKey(node);
      if (twice !== undefined) found.twice ??= twice;
    },
  });
  return found;
}

function repeatedKey({ items }: yaml.YAMLMap): yaml.Scalar | undefined {
  const seen = new Set<string>();
  for (const { key } of items) {
    if (!yaml.isScalar(key)) continue;
    const name = String(key.value);
    if (seen.has(name)) return key;
    seen.add(name);
  }
  return undefined;
}

/** Whether a node is a whole number that is written with a leading zero. */
const hasLeadingZero = (node: yaml.Scalar) =>
  typeof node.value === "number" && /^[-+]?0\d+$/.test(node.source ?? "");

function offsetOf(
  root: yaml.Node | null,
  path: readonly PropertyKey[],
  part: "key" | "value",
): number {
  let node: unknown = root;
  let offset = root?.range?.[0] ?? 0;
  for (const [index, step] of path.entries()) {
    const last = index === path.length - 1;
    if (yaml.isMap(node)) {
      const pair = pairOf(node, String(step));
      if (!yaml.isPair(pair)) return offset;
      const key = yaml.isNode(pair.key) ? (pair.key.range?.[0] ?? offset) : offset;
      const value = yaml.isNode(pair.value) ? (pair.value.range?.[0] ?? key) : key;
      offset =
        last && part === "key"
          ? key
          : yaml.isMap(pair.value) || yaml.isSeq(pair.value)
            ? key
            : value;
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
    pairs = new Map(
      map.items.flatMap((item) =>
        yaml.isNode(item.key) ? [[String(item.key.toJSON()), item]] : [],
      ),
    );
    pairsOf.set(map, pairs);
  }
  return pairs.get(key);
}
