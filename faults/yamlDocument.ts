import { readFileSync } from "node:fs";
import {
  isMap,
  isNode,
  isPair,
  isSeq,
  LineCounter,
  type Node,
  type ParsedNode,
  parseAllDocuments,
} from "yaml";
import { type Place, UnreadableInput } from "./fault";

/** A YAML or JSON file as plain data, which can still say where each of its values stands. */
export interface SourceDocument {
  readonly file: string;
  readonly value: unknown;
  /** Where a path stands; of a path that is not there, its nearest ancestor. `key` points at the key itself. */
  locate(path: readonly PropertyKey[], part?: "key" | "value"): Place;
}

/** Reads a YAML or JSON file. Throws `UnreadableInput` when it can't be read or is not YAML. */
export function readYamlFile(file: string): SourceDocument {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new UnreadableInput(file, readFailure(error));
  }
  return parseYaml(file, text);
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
  const documents = parseAllDocuments<ParsedNode>(text, { lineCounter: lines, prettyErrors: false });
  if (!Array.isArray(documents) || documents.length === 0) {
    throw new UnreadableInput(file, "the file is empty; it must hold one document");
  }
  const [document, second] = documents;
  if (document === undefined) throw new UnreadableInput(file, "the file is empty; it must hold one document");
  const [error] = document.errors;
  if (error !== undefined)
    throw new UnreadableInput(file, `no valid YAML: ${error.message}`, place(error.pos[0]));
  if (second !== undefined) {
    const start = place(second.range[0]);
    throw new UnreadableInput(file, "holds several YAML documents; one is expected", start);
  }
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (failure) {
    throw new UnreadableInput(
      file,
      `no usable YAML: ${failure instanceof Error ? failure.message : String(failure)}`,
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
      const pair = node.items.find((item) => isNode(item.key) && String(item.key.toJSON()) === String(step));
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

/** Why a file could not be read, in words. */
export function readFailure(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === "ENOENT") return "no such file";
  if (code === "EACCES") return "no permission to read it";
  if (code === "EISDIR") return "is a directory, not a file";
  return error instanceof Error ? error.message : String(error);
}
