import type { Follows } from "../../../vllm/argv/shellScript";
import { isText, type Word } from "../../../vllm/argv/unknown";
import { assigned, isAssignment } from "./assignments";

/** Words that a shell reads before a command, and that are none. */
export const RESERVED: ReadonlySet<string> = new Set([
  ...["if", "then", "elif", "else", "while", "until", "do", "{", "}", "!", "fi", "done", "esac"],
]);

/** What a script decides only as it runs, by the word that begins it, and the word that ends it. */
const ENDS: Readonly<Record<string, string>> = {
  ...{ if: "fi", case: "esac", for: "done", while: "done", until: "done", select: "done" },
  "{": "}",
};

const CLOSERS = new Set(Object.values(ENDS));

/** Commands that set variables by their arguments. */
const DECLARES = new Set(["export", "readonly", "local", "declare", "typeset"]);
/** Commands that set variables to what only they know. */
const READS = new Set(["read", "unset", "getopts", "mapfile", "readarray"]);
/** Commands that ask something, so that what stands behind `&&` may not run. */
const ASKS = /^(?:\[\[?|test|e?grep|which|command|!)$/;
/** Programs that run a here-document. */
const RUNS = /(?:^|\/)(?:(?:ba|da|a|z|k)?sh|ssh)$/;

/** What a script has set so far, and which of its commands run only under a condition. */
export interface ScriptState {
  readonly follows: Follows;
  readonly optional: ReadonlySet<readonly Word[]>;
  readonly documents: readonly string[];
}

/** Follows a script from its first command on. A variable that a condition sets is not known. */
export function scriptState(): ScriptState {
  const values = new Map<string, string>();
  const arrays = new Map<string, readonly Word[]>();
  const undecided = new Set<string>();
  const optional = new Set<readonly Word[]>();
  const documents: string[] = [];
  const blocks = blockReader();

  const lose = (name: string) => {
    undecided.add(name);
    arrays.delete(name);
  };
  const set = (name: string, value: string) => {
    if (blocks.isOptional() && values.get(name) !== value) lose(name);
    else values.set(name, value);
    blocks.setHere(name);
  };
  const assign = (word: string) => {
    const [, name, more = ""] = /^([A-Za-z_]\w*)\+=([\s\S]*)$/.exec(word) ?? [];
    if (name !== undefined) set(name, (values.get(name) ?? "") + more);
    else if (isAssignment(word)) set(...assigned(word));
  };
  const run = (words: readonly string[]) => {
    const [first = "", ...rest] = words;
    if (READS.has(first) || first === "for" || first === "select")
      for (const name of rest.slice(0, first === "for" ? 1 : undefined)) lose(name);
    const assigns = DECLARES.has(first) ? rest.filter((word) => !word.startsWith("-")) : words;
    if (DECLARES.has(first) || assigns.every((word) => /^[A-Za-z_]\w*\+?=/.test(word)))
      for (const word of assigns) assign(word);
  };

  return {
    optional,
    documents,
    follows: {
      value(name, given) {
        if (undecided.has(name)) return undefined;
        const value = values.get(name) ?? arrays.get(name)?.find(isText);
        return value === undefined || value === "" ? (given() ?? value) : value;
      },
      array: (name) => (undecided.has(name) ? undefined : arrays.get(name)),
      setArray(name, words, adds) {
        if (blocks.isOptional()) lose(name);
        else arrays.set(name, adds ? [...(arrays.get(name) ?? []), ...words] : words);
        blocks.setHere(name);
      },
      ended(command, by) {
        const read = blocks.ended(command.filter(isText), by);
        if (blocks.isOptional()) optional.add(command);
        for (const name of read.lost) lose(name);
        run(read.words);
        blocks.next(read.words, by);
        return read.isCommand;
      },
      document(text, command) {
        const isScript =
          text.startsWith("#!") || command.some((word) => isText(word) && RUNS.test(word));
        if (!isScript) documents.push(text);
        return isScript;
      },
    },
  };
}

/** Follows which `if`, `case`, loop and function a script is inside of. */
function blockReader() {
  const open: { begins: string; isFunction: boolean; sets: string[] }[] = [];
  let names = false;
  let isAsked = false;
  let before = { by: "", asks: false };
  const isOptional = () => isAsked || open.some(({ begins }) => begins !== "{");
  const close = (end: string): string[] => {
    const at = open.findLastIndex(({ begins }) => ENDS[begins] === end);
    return at < 0
      ? []
      : open.splice(at).flatMap(({ isFunction, sets }) => (isFunction ? sets : []));
  };
  return {
    isOptional,
    setHere: (name: string) => void open.at(-1)?.sets.push(name),
    /** The words of a command without reserved ones, and what a function that ends had set. */
    ended(command: readonly string[], by: string) {
      const lost: string[] = [];
      const isPattern = by === ")" && open.at(-1)?.begins === "case";
      let start = 0;
      for (; start < command.length; start++) {
        const word = command[start] ?? "";
        if (word === "function") names = true;
        if (Object.hasOwn(ENDS, word)) open.push({ begins: word, isFunction: names, sets: [] });
        if (word === "{") names = false;
        if (CLOSERS.has(word)) lost.push(...close(word));
        if (word === "case" || !(RESERVED.has(word) || word === "function")) break;
      }
      // `NAME()` is a function's name.
      const isName = by === "(" && command.length === 1;
      if (isName) names = true;
      const inline = command[0] === "case" && by === ")";
      const words = isPattern || isName || inline ? [] : command.slice(start);
      return { lost, words, isCommand: words.length > 0 };
    },
    /** Whether what follows runs only if this command says so. */
    next(words: readonly string[], by: string) {
      const doubled = words.length === 0 && (by === "&" || by === "|") && by === before.by;
      if (doubled) isAsked = by === "|" || before.asks;
      else if (words.length > 0) isAsked = false;
      before = { by, asks: ASKS.test(words[0] ?? "") || (doubled && before.asks) };
    },
  };
}
