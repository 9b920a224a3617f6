import { isMetered, type Provider } from "./schema";

/** Tokens that a provider reported for one invocation. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** How invocations without a measured cost are treated: `unattended.budget` of the automation config. */
export interface EstimatePolicy {
  /** `estimate_unmetered`: whether such an invocation is debited at all. */
  readonly estimateUnmetered: boolean;
  /** `estimate_usd_per_invocation`: the conservative worst case, in USD. */
  readonly usdPerInvocation?: number | undefined;
}

/** One line of the ledger for one invocation. */
export interface Debit {
  /** USD taken from `caps.cost_usd`. */
  readonly usd: number;
  /** The amount is the configured worst case, not a measurement. */
  readonly estimated: boolean;
}

const TOKENS_PER_PRICE = 1_000_000;

/**
 * What an invocation costs the ledger: the measured cost when the provider has both prices and reported its usage,
 * else the estimate. `undefined` when the cost is unknown and no estimate is to be taken, so that nobody mistakes it
 * for free. Throws `RangeError` on token counts or amounts that can't be.
 */
export function debit(
  provider: Pick<Provider, "price_usd_per_mtok_input" | "price_usd_per_mtok_output">,
  usage: Usage | undefined,
  policy: EstimatePolicy,
): Debit | undefined {
  if (usage !== undefined && isMetered(provider)) {
    const { price_usd_per_mtok_input: input = 0, price_usd_per_mtok_output: output = 0 } = provider;
    const parts = count(usage.inputTokens) * input + count(usage.outputTokens) * output;
    return { usd: parts / TOKENS_PER_PRICE, estimated: false };
  }
  const estimate = policy.usdPerInvocation;
  if (!policy.estimateUnmetered || estimate === undefined) return undefined;
  if (!(estimate >= 0)) throw new RangeError("an estimate per invocation is 0 USD or more");
  return { usd: estimate, estimated: true };
}

/** What is left of `caps.cost_usd` after some debits; below zero when the cap is passed. */
export function remainingBudget(capUsd: number, debits: readonly Debit[]): number {
  return debits.reduce((left, { usd }) => left - usd, capUsd);
}

function count(tokens: number): number {
  if (!Number.isInteger(tokens) || tokens < 0)
    throw new RangeError("a token count is a whole number, 0 or more");
  return tokens;
}
