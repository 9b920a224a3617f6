import { UNKNOWN } from "./unknown";

/** Words of unknown number: a shell variable without quotes, or a list that is not known yet. */
export const SOME_WORDS: unique symbol = Symbol("any number of words that are not known before the update");

/** One word of a command line, or a mark that it can't be read. */
export type Word = string | typeof UNKNOWN | typeof SOME_WORDS;

export function isText(word: Word | undefined): word is string {
  return typeof word === "string";
}

/** The last part of a path: `/usr/bin/sh` is `sh`. */
export function baseName(word: string): string {
  return word.slice(word.lastIndexOf("/") + 1);
}

/** A list property of a container as words. */
export function wordsOf(list: readonly unknown[] | typeof UNKNOWN): Word[] {
  if (list === UNKNOWN) return [SOME_WORDS];
  return list.map((item) => (item === UNKNOWN ? UNKNOWN : String(item)));
}
