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
  const withoutKeysIn = searching();
  const replacer = (_: string, inner: unknown) =>
    typeof inner === "string" ? withoutKeysIn(inner) : inner;
  // Hardly a document holds a key, and without a replacer it is written several times as fast.
  const written = mayHoldKeys(value, withoutKeysIn)
    ? JSON.stringify(value, replacer, 2)
    : JSON.stringify(value, null, 2);
  return (written ?? "null").replace(CONTROLS, escaped);
}

/** Whether a text inside has a key, or an object writes itself in a way of its own. */
function mayHoldKeys(value: unknown, withoutKeysIn: (text: string) => string): boolean {
  if (typeof value === "string") return withoutKeysIn(value) !== value;
  if (typeof value !== "object" || value === null) return false;
  return "toJSON" in value || Object.values(value).some((each) => mayHoldKeys(each, withoutKeysIn));
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
function searching() {
  const searched = new Map<string, string>();
  return (inner: string): string => {
    if (inner.length > LONG) return withoutKeys(inner);
    const plain = searched.get(inner) ?? withoutKeys(inner);
    searched.set(inner, plain);
    return plain;
  };
}
