import { objectOr } from "@local-serving/base/faults/json";
import type { Provider } from "./schema";

/** Tokens that a server reported for one request. */
export type Usage = { readonly inputTokens: number; readonly outputTokens: number };

type Prices = Pick<Provider, "price_usd_per_mtok_input" | "price_usd_per_mtok_output">;

const TOKENS_PER_PRICE = 1_000_000;

/** Whether a provider's cost is measured, which takes both prices. */
export function isMetered(prices: Prices): prices is Record<keyof Prices, number> {
  return (
    prices.price_usd_per_mtok_input !== undefined && prices.price_usd_per_mtok_output !== undefined
  );
}

/**
 * What a request cost in USD. `undefined` unless the provider is metered and the server reported
 * usage: then the harness takes the automation config's estimate per invocation, and marks it
 * `estimated`.
 */
export function measuredUsd(prices: Prices, usage: Usage | undefined): number | undefined {
  if (usage === undefined || !isMetered(prices)) return undefined;
  const { price_usd_per_mtok_input: input, price_usd_per_mtok_output: output } = prices;
  return (usage.inputTokens * input + usage.outputTokens * output) / TOKENS_PER_PRICE;
}

/** The usage in a chat-completions answer. Counts that no server can mean are not taken. */
export function usageOf(answer: unknown): Usage | undefined {
  const { prompt_tokens: inputTokens, completion_tokens: outputTokens } = objectOr(
    objectOr(answer).usage,
  );
  return isCount(inputTokens) && isCount(outputTokens) ? { inputTokens, outputTokens } : undefined;
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;
