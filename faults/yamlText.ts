import { Lexer } from "yaml";
import type { Position } from "./fault";

/** Why a YAML text isn't parsed at all, and where. */
export interface Refusal {
  readonly reason: string;
  readonly place: Position;
}

/**
 * Returns the first reason not to give a text to a parser: it nests too deep, is too long, or has a
 * directive. `undefined` if there is none.
 */
export const textRefusal = (text: string): Refusal | undefined =>
  nesting(text) ?? directive(text) ?? size(text);

/**
 * Deepest nesting that is read: no configuration comes near it, and far deeper text exhausts a
 * parser's stack.
 */
const DEEPEST_NESTING = 200;

/**
 * Where text certainly nests too deep, found without parsing it: brackets that are open, block
 * indicators in front of a line's first word, or lines that are each indented further than those
 * before. Brackets inside quotes, and lines of a long text, count too, which no real file notices.
 */
function nesting(text: string): Refusal | undefined {
  let open = 0;
  /** The indentations that a line is inside of, its own the last. */
  const indents: number[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const indent = line.search(/[^ ]/);
    if (indent >= 0) {
      while ((indents.at(-1) ?? -1) >= indent) indents.pop();
      indents.push(indent);
    }
    const brackets = bracketsIn(line, open);
    open = brackets.open;
    if (Math.max(indicatorsOf(line), indents.length - 1, brackets.most) > DEEPEST_NESTING) {
      const place = { line: index + 1, column: 1 };
      return { reason: `nests deeper than ${DEEPEST_NESTING} levels`, place };
    }
  }
  return undefined;
}

/** How many block indicators stand in front of a line's first word. */
function indicatorsOf(line: string): number {
  const [start = ""] = /^(?:[ \t]*(?:[-?:](?=[ \t])|[&!][^ \t]*))*/.exec(line) ?? [];
  return start.match(/[-?:](?=[ \t])/g)?.length ?? 0;
}

/** How many brackets are open behind a line, and the most that are inside it. */
function bracketsIn(
  line: string,
  before: number,
): { readonly open: number; readonly most: number } {
  let open = before;
  let most = before;
  for (const letter of line) {
    if ("[{".includes(letter)) open += 1;
    if ("]}".includes(letter)) open = Math.max(0, open - 1);
    most = Math.max(most, open);
  }
  return { open, most };
}

/**
 * What stands before a document and changes nothing: blank lines, comments, and the version that
 * every reader takes.
 */
const NO_DIRECTIVE = /^\ufeff?(?:[ \t]*(?:#.*)?|%YAML[ \t]+1\.2[ \t]*(?:#.*)?)\r?$/;

/**
 * A directive is refused: `%YAML 1.1` makes other values of `yes` and `010` for some readers of a
 * file and not for others (Pulumi's among these), and `%TAG` gives tags another meaning.
 */
function directive(text: string): Refusal | undefined {
  let start = 0;
  for (let line = 1; start <= text.length; line++) {
    const end = text.indexOf("\n", start);
    const written = text.slice(start, end === -1 ? text.length : end);
    if (!NO_DIRECTIVE.test(written)) {
      const [name] = /^\ufeff?(%[\w. ]{0,40})/.exec(written)?.slice(1) ?? [];
      if (name === undefined) return undefined;
      const reason = `the directive \`${name.trim()}\` makes YAML readers disagree about the values in the file: remove this line`;
      return { reason, place: { line, column: 1 } };
    }
    if (end === -1) return undefined;
    start = end + 1;
  }
  return undefined;
}

/**
 * Most words, signs and line ends that are read: the parser takes up to 10 µs for each, and 500
 * machines have fewer.
 */
const MOST_LEXEMES = 150_000;

function size(text: string): Refusal | undefined {
  // Each is at least a character long, but for a few that the lexer puts in itself.
  if (text.length < MOST_LEXEMES / 2) return undefined;
  let count = 0;
  let at = 0;
  for (const lexeme of new Lexer().lex(text)) {
    at += lexeme.length;
    count += 1;
    if (count <= MOST_LEXEMES) continue;
    const reason = `holds more than ${MOST_LEXEMES} words and signs; a configuration file has a few thousand`;
    return { reason, place: { line: text.slice(0, at).split("\n").length, column: 1 } };
  }
  return undefined;
}
