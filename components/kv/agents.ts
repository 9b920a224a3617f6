import { type Admission, admission } from "./admission";
import type { KvPlan } from "./figures";

/** What coding agents send with every call, in tokens (specification, Errors: "roughly 30-40K tokens of envelope"). */
const AGENT_ENVELOPES = [30_000, 40_000] as const;

/** Max output tokens of the coding client (specification, Coding-client variables). */
export const CODING_CLIENT_MAX_TOKENS = 32_000;

/** How many agents of each usual size work at once. */
export function agentsAtOnce(plan: KvPlan, maxTokens: number = CODING_CLIENT_MAX_TOKENS): Admission[] {
  return AGENT_ENVELOPES.map((promptTokens) => admission(plan, { promptTokens, maxTokens }));
}
