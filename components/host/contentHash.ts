import { createHash } from "node:crypto";

/** Hex digits that tell two texts apart and still can be read out. */
const LENGTH = 12;

/** Short fingerprint of a file's text, for a label that changes exactly when the text does. */
export function contentHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, LENGTH);
}
