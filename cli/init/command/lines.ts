import { defined } from "@local-serving/base/faults/defined";
import { asWritten, type LeftOut } from "./words";

/** Tells the first line of a text that has a word, at or behind the line where a server begins. */
export type LineOf = (word: string, from?: number) => number | undefined;

/** Most lines that are kept of one word: the first ones are asked for. */
const MOST_LINES = 200;

/** Finds words, and options with the value behind them, in the lines of a text; one line alone needs no number. */
export function linesOf(text: string): LineOf {
  let found: Lines | undefined;
  return (word, from = 0) => {
    found ??= text.trim().includes("\n") ? readLines(text) : new Map();
    const lines = found.get(word) ?? found.get(plain(word)) ?? [];
    return lines.find((line) => line >= from) ?? lines[0];
  };
}

type Lines = ReadonlyMap<string, readonly number[]>;

/** What a remark of a shell, of YAML or of a unit begins with. */
const REMARK = /^\s*(?:#|;|\/\/)/;

function readLines(text: string): Lines {
  const found = new Map<string, number[]>();
  const add = (word: string, line: number) => {
    const lines = found.get(word) ?? [];
    if (lines.length < MOST_LINES && lines.at(-1) !== line) lines.push(line);
    found.set(word, lines);
  };
  for (const [index, line] of text.split("\n").entries()) {
    if (REMARK.test(line)) continue;
    let before = "";
    for (const [word] of line.matchAll(/[^\s"'`[\]{},]+/g)) {
      for (const form of formsOf(word)) add(form, index + 1);
      if (before.startsWith("-")) add(`${before} ${word}`, index + 1);
      // A key with its value: `memory: 90Gi`, `ShmSize=16g`.
      const [, key = before.endsWith(":") ? before.slice(0, -1) : "", value = word] =
        /^(\w+)=(.+)$/.exec(word) ?? [];
      if (key !== "") add(plain(`${key} ${value}`), index + 1);
      before = word;
    }
  }
  return found;
}

/** A word as it stands there, and by its name alone: `--flag=value`, `key:`, `NAME=value`. */
function formsOf(word: string): ReadonlySet<string> {
  const bare = word.replace(/[:;)\\]+$/, "");
  const [name = ""] = bare.split(/[=:]/, 1);
  const value = bare.slice(name.length + 1);
  const letters = /^-[A-Za-z]{2,}$/.test(bare) ? [...bare.slice(1)].map((each) => `-${each}`) : [];
  return new Set([bare, name, plain(name), value, ...letters].filter((form) => form !== ""));
}

/** A name as every kind of file has it: `--shm-size`, `shm_size` and `ShmSize` are one. */
const plain = (word: string): string => word.replace(/[-_]/g, "").toLowerCase();

/** What is left out, with the line of the first of its words that the text has. */
export const placed =
  (lineOf: LineOf | undefined, from?: number) =>
  ({ what, why, line, words = [] }: LeftOut): LeftOut => ({
    what,
    why,
    ...defined({ line: line ?? firstLine(words, lineOf, from) }),
  });

function firstLine(words: readonly string[], lineOf?: LineOf, from?: number): number | undefined {
  for (const word of words) {
    const line = lineOf?.(asWritten(word), from);
    if (line !== undefined) return line;
  }
  return undefined;
}
