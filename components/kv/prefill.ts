/** A cold prompt: nothing of it is in the prefix cache. */
export interface Prefill {
  readonly tokens: number;
  /** Seconds until its first token, whole. */
  readonly seconds: number;
}

/**
 * Prefill rates in tokens a second by length of the prompt, measured on one DGX Spark (specification, Limits: 1,734 at a
 * 4.6K prompt, 853 at 47.8K, and 20 minutes for a million tokens, which is 833).
 */
const MEASURED_RATES = [
  { tokens: 4_600, rate: 1_734 },
  { tokens: 47_800, rate: 853 },
  { tokens: 1_000_000, rate: 1_000_000 / (20 * 60) },
] as const;

/** Lengths that a plan names beside the whole window: an agent's first call, and a long context. */
const USUAL_LENGTHS = [30_000, 131_072] as const;

/**
 * Seconds that a cold prompt of so many tokens takes; shorter and longer ones than were measured take the nearest rate.
 *
 * @throws RangeError when the length is not above 0
 */
export function prefillSeconds(tokens: number): number {
  if (!(tokens > 0)) throw new RangeError("a prompt has at least one token");
  return tokens / rateAt(tokens);
}

/** What a cold prompt of each usual length, and of the whole window, costs. */
export function prefills(window: number): Prefill[] {
  return [...USUAL_LENGTHS.filter((tokens) => tokens < window), window].map((tokens) => ({
    tokens,
    seconds: Math.round(prefillSeconds(tokens)),
  }));
}

function rateAt(tokens: number): number {
  const above = MEASURED_RATES.find((point) => point.tokens >= tokens);
  const below = MEASURED_RATES.findLast((point) => point.tokens <= tokens);
  if (above === undefined || below === undefined || above === below) {
    return (above ?? below ?? MEASURED_RATES[0]).rate;
  }
  const part = Math.log(tokens / below.tokens) / Math.log(above.tokens / below.tokens);
  return below.rate + part * (above.rate - below.rate);
}
