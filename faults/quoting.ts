import { distance } from "fastest-levenshtein";
import { looksLikeAKey } from "./secrets";

/** Small words as choices and names are made of; most passwords have digits, capitals or signs in them. */
const SMALL_WORDS = /^(?=.{1,24}$)[a-z]+(?:[ ._-][a-z]+)*$/;

/** Words that people write into a place where they would not show what belongs there. */
const SECRET_WORDS = /secret|passw|token|key/;

/** A number or flag in quotes; no key is so short. */
const PLAIN_VALUE = /^(?:true|false|yes|no|on|off|none|-?\d{1,5}(?:\.\d{1,3})?)$/i;

/** `true` for text that a message may quote: small words or a short number, never what may be a key or password. */
export const mayBeQuoted = (text: string): boolean =>
  PLAIN_VALUE.test(text) || (SMALL_WORDS.test(text) && !SECRET_WORDS.test(text) && !looksLikeAKey(text));

/** `true` for text so close to `meant` that it is a slip of the pen, so that it may be quoted. */
export const isSlip = (text: string, meant: string | undefined): boolean =>
  meant !== undefined && /^[\w .-]+$/.test(text) && !looksLikeAKey(text);

/** Share of a key's letters, rounded up, that may differ before a suggestion is more confusing than helpful. */
const LARGEST_DIFFERENCE = 1 / 3;

/** What was most likely meant, as a sentence; `otherwise`, where nothing is close, says what there is. */
export function nearOf(
  name: string,
  known: readonly string[],
  otherwise = `It has: ${known.join(", ") || "none"}.`,
): string {
  const near = nearestKey(name, known);
  return near === undefined ? otherwise : `Did you mean \`${near}\`?`;
}

/** The known key that a mistyped one most likely meant, or `undefined` when none is close. */
export function nearestKey(key: string, known: readonly string[]): string | undefined {
  const plain = (text: string) => text.toLowerCase().replace(/[-_]/g, "");
  const near = known.map((candidate) => ({ candidate, off: distance(plain(key), plain(candidate)) }));
  const [best] = near.sort((a, b) => a.off - b.off);
  if (best === undefined) return undefined;
  const most = Math.ceil(Math.max(key.length, best.candidate.length) * LARGEST_DIFFERENCE);
  return best.off <= most ? best.candidate : undefined;
}
