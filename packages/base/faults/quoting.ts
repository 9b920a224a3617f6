import { distance } from "fastest-levenshtein";
import { looksLikeAKey } from "./secrets";

/**
 * Small words of which choices and names are made. Most passwords have digits, capitals or signs in
 * them.
 */
const SMALL_WORDS = /^(?=.{1,24}$)[a-z]+(?:[ ._-][a-z]+)*$/;

/** Words that people write in place of a secret that they don't want to show. */
const SECRET_WORDS = /secret|passw|token|key/;

/** A number or flag in quotes; no key is so short. */
const PLAIN_VALUE = /^(?:true|false|yes|no|on|off|none|-?\d{1,5}(?:\.\d{1,3})?)$/i;

/**
 * `true` for text that a message may quote: small words or a short number, never what may be a key
 * or password.
 */
export const mayBeQuoted = (text: string): boolean =>
  PLAIN_VALUE.test(text) ||
  (SMALL_WORDS.test(text) && !SECRET_WORDS.test(text) && !looksLikeAKey(text));

/** `true` for text so close to `meant` that it is a slip of the pen, so that it may be quoted. */
export const isSlip = (text: string, meant: string | undefined): boolean =>
  meant !== undefined && /^[\w .-]+$/.test(text) && !looksLikeAKey(text);

/** A clause as a sentence begins. */
export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** A sentence as it goes on behind other words: with a small letter. */
export const lowered = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

/** A sentence as a clause: without the mark that ends it. */
export const clause = (text: string): string => text.replace(/[.:,;\s]+$/, "");

/** A number of things: `1 minute`, `2 minutes`. */
export const counted = (number: number, one: string, several = `${one}s`): string =>
  `${number} ${number === 1 ? one : several}`;

/**
 * Share of a key's letters, rounded up, that may differ before a suggestion is more confusing than
 * helpful.
 */
const LARGEST_DIFFERENCE = 1 / 3;

/** Most names that a message lists. */
const MOST_NAMES = 60;

/** Lists names in a sentence. If there are very many, it says how many more. */
export function listOf(names: readonly string[]): string {
  const more = names.length - MOST_NAMES;
  return (
    [...names.slice(0, MOST_NAMES), ...(more > 0 ? [`and ${more} more`] : [])].join(", ") || "none"
  );
}

/**
 * What was most likely meant, as a sentence; `otherwise`, where nothing is close, says what there
 * is.
 */
export function nearOf(
  name: string,
  known: readonly string[],
  otherwise = `It has: ${listOf(known)}.`,
): string {
  const near = nearestKey(name, known);
  return near === undefined ? otherwise : `Did you mean \`${near}\`?`;
}

/** Most letters that may differ for a suggestion. */
const mostOff = (key: string, candidate: string) =>
  Math.ceil(Math.max(key.length, candidate.length) * LARGEST_DIFFERENCE);

/**
 * Most known keys that a mistyped one is compared with, since a document may have any number of
 * both.
 */
const MOST_COMPARED = 200;

const plain = (text: string) => text.toLowerCase().replace(/[-_]/g, "");

/**
 * The known key that a mistyped one most likely meant, or `undefined` when none is close. It is
 * compared with those of about its length alone, and with no more than 200 of these.
 */
export function nearestKey(key: string, known: readonly string[]): string | undefined {
  const meant = plain(key);
  let best: { readonly candidate: string; readonly off: number } | undefined;
  let compared = 0;
  for (const candidate of known) {
    if (Math.abs(key.length - candidate.length) > mostOff(key, candidate)) continue;
    if (++compared > MOST_COMPARED) break;
    const off = distance(meant, plain(candidate));
    if (off < (best?.off ?? Number.POSITIVE_INFINITY)) best = { candidate, off };
  }
  return best !== undefined && best.off <= mostOff(key, best.candidate)
    ? best.candidate
    : undefined;
}

/** Share of a key's letters that differ in a slip of the pen. */
const SLIP = 1 / 5;

/** The known key that a mistyped one surely meant; `undefined` where another may be meant. */
export function slipOf(key: string, known: readonly string[]): string | undefined {
  const most = Math.max(1, Math.floor(key.length * SLIP));
  const near = nearestKey(
    key,
    // Dashes that are missing count for the length alone.
    known.filter((each) => Math.abs(each.length - key.length) <= most + 1),
  );
  return near !== undefined && distance(plain(key), plain(near)) <= most ? near : undefined;
}
