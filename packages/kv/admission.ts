import type { DataOf } from "@local-serving/base/data/dataOf";
import { requestBlocks } from "./cacheLayout";
import type { KvPlan } from "./kvPlan";
import type { agentsSchema, prefillSchema } from "./schema";

/**
 * A coding agent as the engine sees it: what it sends with every call, and what it may be answered.
 */
interface Agent {
  /** Prompt in tokens; agents send about 30,000 to 40,000 with every call. */
  readonly promptTokens: number;
  readonly maxTokens: number;
}

/** How many agents of one kind an engine serves at the same time. */
export type Admission = DataOf<typeof agentsSchema>;

/**
 * Returns how many agents work at once in the worst case: each fills its whole request and shares
 * no prefix with another. Further requests don't fail: they wait in the queue or are put back
 * (preempted).
 *
 * @throws RangeError when a count of tokens is not a whole number, or is negative, or the request
 * is empty
 */
export function admission(plan: KvPlan, agent: Agent): Admission {
  const requestTokens = agent.promptTokens + agent.maxTokens;
  if (
    ![agent.promptTokens, agent.maxTokens].every((count) => Number.isInteger(count) && count >= 0)
  )
    throw new RangeError("promptTokens and maxTokens are whole numbers of tokens, 0 or more");
  if (requestTokens === 0) throw new RangeError("a request has at least one token");
  const blocksPerAgent = requestBlocks(plan.layout, requestTokens);
  const sized = {
    ...agent,
    requestTokens,
    blocksPerAgent,
    bytesPerAgent: blocksPerAgent * plan.bytesPerBlock,
  };
  const admitted = requestTokens <= plan.maxModelLen;
  if (!admitted) return { ...sized, admitted, atOnce: 0, limitedBy: "window" };
  const held = plan.starts ? Math.floor(plan.usableBlocks / blocksPerAgent) : 0;
  const sequences = plan.maxNumSeqs ?? Number.POSITIVE_INFINITY;
  return sequences < held
    ? { ...sized, admitted, atOnce: sequences, limitedBy: "max-num-seqs" }
    : { ...sized, admitted, atOnce: held, limitedBy: "kv-cache" };
}

/**
 * What coding agents send with every call, in tokens (specification, Errors: "roughly 30-40K tokens
 * of envelope").
 */
const AGENT_ENVELOPES = [30_000, 40_000] as const;

/** Max output tokens of the coding client (specification, Coding-client variables). */
export const CODING_CLIENT_MAX_TOKENS = 32_000;

/** How many agents of each usual size work at once. */
export const agentsAtOnce = (
  plan: KvPlan,
  maxTokens: number = CODING_CLIENT_MAX_TOKENS,
): Admission[] =>
  AGENT_ENVELOPES.map((promptTokens) => admission(plan, { promptTokens, maxTokens }));

/** A cold prompt: nothing of it is in the prefix cache. */
export type Prefill = DataOf<typeof prefillSchema>;

/** Lengths that a plan names beside the whole window: an agent's first call, and a long context. */
const USUAL_LENGTHS = [30_000, 131_072] as const;

/**
 * Returns what a cold prompt of each usual length, and of the whole window, costs at best. Longer
 * prompts are read more slowly.
 *
 * @param tokensPerSecond how fast this very model reads prompts; the rate of another model doesn't
 * tell
 */
export function prefills(window: number, tokensPerSecond: number): Prefill[] {
  return [...USUAL_LENGTHS.filter((tokens) => tokens < window), window].map((tokens) => ({
    tokens,
    seconds: Math.round(tokens / tokensPerSecond),
  }));
}
