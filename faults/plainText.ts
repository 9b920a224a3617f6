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
  return (
    JSON.stringify(
      value,
      (_, inner) => (typeof inner === "string" ? withoutKeys(inner) : inner),
      2,
    ) ?? "null"
  ).replace(CONTROLS, escaped);
}
