import type { ServerState } from "./exchange";

/** Tokens of a block: reuse comes in whole blocks. */
const BLOCK_TOKENS = 16;

/** Prompts that the cache keeps. */
const KEPT = 20;

/** Tokens of this prompt that an earlier one has left in the cache; the prompt is then kept too. */
export function reusedTokens({ args, seenPrompts }: ServerState, words: readonly string[]): number {
  if (args.flags.has("--no-enable-prefix-caching")) return 0;
  const longest = Math.max(0, ...seenPrompts.map((earlier) => commonPrefix(earlier, words)));
  seenPrompts.push([...words]);
  if (seenPrompts.length > KEPT) seenPrompts.shift();
  return Math.floor(longest / BLOCK_TOKENS) * BLOCK_TOKENS;
}

function commonPrefix(a: readonly string[], b: readonly string[]): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}
