import { distance } from "fastest-levenshtein";

/** Share of a key's letters that may differ before a suggestion is more confusing than helpful. */
const LARGEST_DIFFERENCE = 0.5;

/** The known key that a mistyped one most likely meant, or `undefined` when none is close. */
export function nearestKey(key: string, known: readonly string[]): string | undefined {
  const plain = (text: string) => text.toLowerCase().replace(/[-_]/g, "");
  let best: { key: string; distance: number } | undefined;
  for (const candidate of known) {
    const off = distance(plain(key), plain(candidate));
    if (best === undefined || off < best.distance) best = { key: candidate, distance: off };
  }
  if (best === undefined) return undefined;
  return best.distance <= Math.max(key.length, best.key.length) * LARGEST_DIFFERENCE ? best.key : undefined;
}
