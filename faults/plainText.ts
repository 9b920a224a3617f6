import { withoutKeys } from "./secrets";

/**
 * Everything that a terminal takes as a command (C0 but line feed and tab, DEL, C1), and what turns
 * the direction of a line.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken away
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Replaces each character that a terminal would obey with a visible sign. */
export const plainText = (text: string): string => text.replace(CONTROLS, "\ufffd");

/** Writes a JSON document for a terminal: without keys, and with such characters as escapes. */
export function plainJson(value: unknown): string {
  const escaped = (code: string) => `\\u${code.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return (JSON.stringify(value, withoutKeysInside(), 2) ?? "null").replace(CONTROLS, escaped);
}

/**
 * Longest text that is remembered, in characters. Node 20 hashes one of more than 16,383 by its
 * length alone, so that a map compares each with all others of that length.
 */
const LONG = 16_000;

/**
 * Takes keys out of the texts of a document. Most of them repeat, such as a flag of every server,
 * so each is searched once.
 */
function withoutKeysInside() {
  const searched = new Map<string, string>();
  return (_: string, inner: unknown) => {
    if (typeof inner !== "string") return inner;
    if (inner.length > LONG) return withoutKeys(inner);
    const plain = searched.get(inner) ?? withoutKeys(inner);
    searched.set(inner, plain);
    return plain;
  };
}
