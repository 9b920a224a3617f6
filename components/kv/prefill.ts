/** A cold prompt: nothing of it is in the prefix cache. */
export interface Prefill {
  readonly tokens: number;
  /** Seconds until its first token, whole. */
  readonly seconds: number;
}

/** Lengths that a plan names beside the whole window: an agent's first call, and a long context. */
const USUAL_LENGTHS = [30_000, 131_072] as const;

/**
 * What a cold prompt of each usual length, and of the whole window, costs at best: rates fall with the length.
 *
 * @param tokensPerSecond how fast this very model reads prompts; another's rate says nothing of it
 */
export function prefills(window: number, tokensPerSecond: number): Prefill[] {
  return [...USUAL_LENGTHS.filter((tokens) => tokens < window), window].map((tokens) => ({
    tokens,
    seconds: Math.round(tokens / tokensPerSecond),
  }));
}
