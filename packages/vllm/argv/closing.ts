/**
 * Index of the bracket that closes the one at `from`, at most so many characters further; `undefined`
 * where there is none. It counts brackets of this kind alone.
 *
 * @param pair the two brackets: `()` or `{}`
 */
export function closing(
  text: string,
  from: number,
  pair: "()" | "{}",
  longest = Number.POSITIVE_INFINITY,
): number | undefined {
  let depth = 0;
  for (let at = from; at < Math.min(text.length, from + longest); at++) {
    const char = text.charAt(at);
    if (char === pair.charAt(0)) depth++;
    if (char === pair.charAt(1) && --depth === 0) return at;
  }
  return undefined;
}
