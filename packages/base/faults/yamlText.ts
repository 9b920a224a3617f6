import { Lexer } from "yaml";
import type { Position } from "./fault";

/** Why a YAML text isn't parsed at all, and where. */
export interface Refusal {
  readonly reason: string;
  readonly place: Position;
}

/**
 * The words, signs and line ends of a text, for a parser; or the first reason not to give them to
 * one: it nests too deep, has a directive, or is too long.
 */
export const lexemesOf = (text: string): readonly string[] | Refusal =>
  nesting(text) ?? directive(text) ?? lexed(text);

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
  for (const bracket of line.match(/[[{}\]]/g) ?? []) {
    open = "[{".includes(bracket) ? open + 1 : Math.max(0, open - 1);
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

function lexed(text: string): readonly string[] | Refusal {
  const lexemes: string[] = [];
  for (const lexeme of new Lexer().lex(text)) {
    lexemes.push(lexeme);
    if (lexemes.length <= MOST_LEXEMES) continue;
    const reason = `holds more than ${MOST_LEXEMES} words and signs; a configuration file has a few thousand`;
    return { reason, place: { line: lexemes.join("").split("\n").length, column: 1 } };
  }
  return lexemes;
}
