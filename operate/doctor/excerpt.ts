import { redact } from "../redact";

/** Characters of a line that are shown, and how many of them stand before the sign. */
const SHOWN = 400;
const SHOWN_BEFORE = 120;

/** Redacted before it is cut, so that no cut makes a secret unrecognizable; a window around the sign bounds the work. */
export function excerpt(line: string, index: number): string {
  const from = Math.max(0, index - 4 * SHOWN);
  // Half a secret could not be told from other text, so the word that the window cuts is left out.
  const window = line.slice(from, index + 8 * SHOWN).replace(from > 0 ? /^\S*/ : "", "");
  const safe = redact(window).trim();
  if (safe.length <= SHOWN) return safe;
  const start = Math.max(0, Math.min(index - from - SHOWN_BEFORE, safe.length - SHOWN));
  return `${start > 0 ? "... " : ""}${safe.slice(start, start + SHOWN)}${start + SHOWN < safe.length ? " ..." : ""}`;
}
