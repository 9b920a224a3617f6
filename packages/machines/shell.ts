import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** Hex digits of a fingerprint: enough to tell two texts apart, few enough to read out. */
const LENGTH = 12;

/** Short fingerprint of a file's text, for a label that changes exactly when the text does. */
export function contentHash(text: string): string {
  return sha256(text).slice(0, LENGTH);
}

/** Variables that are written as `NAME=value`. */
export const variablesIn = (entries: readonly string[]): Map<string, string> =>
  new Map(entries.map((each) => [each.split("=", 1)[0] ?? "", each.replace(/^[^=]*=/, "")]));

/** Hash of a file's content, which a preview can show where the content itself is long. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** A shell script of ours without its comments, as it travels to a machine. */
export function scriptText(path: string): string {
  return readFileSync(path, "utf8").replace(/^ *#.*\n/gm, "");
}
