import { type Alias, type Document, isAlias, isMap, isNode, isSeq, type Node, visit } from "yaml";

/** Deepest nesting that is read: no configuration comes near it, and far deeper text exhausts a parser's stack. */
export const DEEPEST_NESTING = 200;

/**
 * The 1-based line at which text certainly nests too deep, found without parsing it: brackets that are open, or block
 * indicators and spaces in front of a line's first word. Brackets inside quotes count too, which no real file notices.
 */
export function firstTooDeepLine(text: string): number | undefined {
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

/** Every node below a root, in no particular order, without recursion. */
function* nodesBelow(root: Node | null): Generator<unknown> {
  const open: unknown[] = [root];
  while (open.length > 0) {
    const node = open.pop();
    yield node;
    if (isSeq(node)) for (const item of node.items) open.push(item);
    if (isMap(node)) for (const pair of node.items) open.push(pair.key, pair.value);
  }
}

/** The first key that is given twice in one map. */
export function firstDuplicate(root: Node | null): { key: string; offset: number } | undefined {
  for (const node of nodesBelow(root)) {
    if (!isMap(node)) continue;
    const seen = new Set<string>();
    for (const { key } of node.items) {
      if (!isNode(key)) continue;
      const name = String(key.toJSON());
      if (seen.has(name)) return { key: name, offset: key.range?.[0] ?? 0 };
      seen.add(name);
    }
  }
  return undefined;
}

/** The first alias inside the node it refers to: its data would never end. */
export function aliasOfItsOwnParent(document: Document.Parsed): Alias | undefined {
  let found: Alias | undefined;
  visit(document, {
    Alias(_, alias, parents) {
      const target = alias.resolve(document);
      if (target === undefined || !parents.some((parent) => parent === target)) return undefined;
      found = alias;
      return visit.BREAK;
    },
  });
  return found;
}

/** The place of the first alias: aliases are what makes a text explode. */
export function firstAliasOffset(root: Node | null): number {
  const offsets = [...nodesBelow(root)].flatMap((node) => (isAlias(node) ? [node.range?.[0] ?? 0] : []));
  return offsets.reduce((a, b) => Math.min(a, b), offsets[0] ?? 0);
}
