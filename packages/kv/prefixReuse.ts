import type { DataOf } from "@local-serving/base/data/dataOf";
import { SMALLEST_BLOCK } from "./cacheGroups";
import { since } from "./engineRules";
import table from "./prefixReuse.json";
import type { agentReuseSchema } from "./schema";

/**
 * What decides which tokens of a prompt an engine finds again; `hybrid` has linear layers beside
 * full attention.
 */
export interface ReuseRules {
  readonly hybrid: boolean;
  /** Tokens of a block. */
  readonly block: number;
  /** `--max-num-batched-tokens`: as much of a prompt is computed at once. */
  readonly chunk: number;
  readonly drafts: number;
  readonly vllmVersion: string;
}

/**
 * Shares of its previous prompt that an agent's call finds again: of all calls together, and of the
 * worst one.
 */
export type AgentReuse = DataOf<typeof agentReuseSchema>;
type ReuseShares = Pick<AgentReuse, "usual" | "least">;

/** Before, vLLM never schedules a hybrid's block that is wider than a chunk. */
const WIDER_THAN_A_CHUNK = "0.30";

/**
 * From this version on a block's hash covers the token behind it, which the draft module needs; before,
 * one block is given back.
 */
const HASHED_AHEAD = "0.33";

/**
 * Hybrids match in finer steps on all compared versions, and with draft tokens from this one on.
 */
const FINE_WITH_DRAFTS = "0.30";

/** Tokens of a prompt in the loops of the table: of the first, and of all but the last on average. */
const PROMPT = { first: 30_000, mean: 37_500 } as const;

const EVERYTHING: ReuseShares = { usual: 1, least: 1 };
const NOTHING: ReuseShares = { usual: 0, least: 0 };

/** In whole blocks, by the table; a block between two of its rows counts as the wider one. */
function inBlocks({ hybrid, block, chunk, drafts, vllmVersion }: ReuseRules): ReuseShares | null {
  if (!hybrid) return EVERYTHING;
  if (block > chunk && !since(vllmVersion, WIDER_THAN_A_CHUNK)) return NOTHING;
  const row = table.hybrid.find(([tokens = 0]) => tokens >= block);
  if (row === undefined) return null;
  const [, usual = 0, least = 0, usualBack = 0, leastBack = 0] = row;
  return drafts > 0 && !since(vllmVersion, HASHED_AHEAD)
    ? { usual: usualBack, least: leastBack }
    : { usual, least };
}

/**
 * What agents find again turn by turn; `unit` is that of `--prefix-match-unit`. `null` for a block
 * that is wider than those of the table.
 */
export function agentReuse(rules: ReuseRules, unit?: number): AgentReuse | null {
  const whole = inBlocks(rules);
  if (whole === null) return null;
  const { hybrid, drafts, vllmVersion } = rules;
  const follows = hybrid && (drafts === 0 || since(vllmVersion, FINE_WITH_DRAFTS));
  // Two steps at most are computed anew.
  const inSteps = (step: number): ReuseShares =>
    follows
      ? {
          usual: (PROMPT.mean - 2 * step) / PROMPT.mean,
          least: (PROMPT.first - 2 * step) / PROMPT.first,
        }
      : whole;
  return { ...(unit === undefined ? whole : inSteps(unit)), inFineSteps: inSteps(SMALLEST_BLOCK) };
}

/** `97 %, at worst 94 %`: whole percents, rounded down. */
export const reuseText = ({ usual, least }: ReuseShares): string =>
  `${Math.floor(100 * usual)} %, at worst ${Math.floor(100 * least)} %`;
