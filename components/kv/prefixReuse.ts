import type { DataOf } from "../planned/schema/dataOf";
import type { agentReuseSchema } from "../planned/schema/kv";
import { SMALLEST_BLOCK } from "./cacheGroups";
import { since } from "./engineRules";

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
 * An agent's call, all in tokens. Its prompt is the last prompt and its answer, with what is new
 * behind them.
 */
export type AgentCall = readonly [agent: number, prompt: number, answer: number];

/**
 * From this version on, vLLM keeps only two states: the one behind a prompt's last whole block, and
 * the one where prompts diverged.
 */
const LAST_STATE_ONLY = "0.30";

/**
 * From this version on a prompt of whole blocks keeps the state that its own repetition can start
 * from.
 */
const REPEATED_PROMPTS = "0.32";

/**
 * From this version on a block's hash covers the token behind it, which the draft module needs: no
 * block is given back.
 */
const HASHED_AHEAD = "0.33";

/** Before, the draft module needs the last tokens computed anew, so a block is given back. */
const givesBack = ({ drafts, vllmVersion }: ReuseRules) =>
  drafts > 0 && !since(vllmVersion, HASHED_AHEAD);

/**
 * What an agent left in the cache: tokens of full attention, and the token counts at which the
 * linear layers' state was kept.
 */
type Kept = { readonly tokens: number; readonly states: ReadonlySet<number> };

/**
 * Counts the tokens that each call finds again in the prefix cache while agents take turns, as
 * vLLM's scheduler does (0.26, 0.30, 0.32, 0.33). It assumes that the cache has room for all of
 * them.
 *
 * @param shared tokens that the prompts of all agents begin with: the system prompt and the tools
 */
export function tokensFoundAgain(
  rules: ReuseRules,
  shared: number,
  calls: readonly AgentCall[],
): number[] {
  const { block, hybrid } = rules;
  const givenBack = givesBack(rules) ? block : 0;
  const hashed = rules.drafts > 0 && givenBack === 0 ? 1 : 0;
  const agents = new Map<number, Kept>();
  return calls.map(([agent, prompt, answer]) => {
    const seen = [...agents].map(([other, kept]) => ({
      ...kept,
      limit: other === agent ? prompt - 1 : Math.min(shared - hashed, prompt - 1),
    }));
    const shares = seen.map(
      ({ tokens, limit }) => whole(Math.min(tokens, limit), block) - givenBack,
    );
    const attention = Math.max(0, ...shares);
    const usable = seen.flatMap(({ states, limit }) =>
      [...states].filter((at) => at <= Math.min(limit, attention)),
    );
    const found = hybrid ? Math.max(0, ...usable) : attention;
    const tokens = prompt + answer - 1;
    const own = agents.get(agent)?.states ?? [];
    const states = hybrid
      ? [...own, ...usable, ...statesKept(rules, { found, parted: attention, prompt, tokens })]
      : [];
    agents.set(agent, { tokens, states: new Set(states) });
    return found;
  });
}

/** Returns the tokens that fill whole blocks. */
const whole = (tokens: number, block: number) => tokens - (tokens % block);

/** One call, counted in tokens. */
interface CallTokens {
  /** At the beginning of the prompt, found in the cache. */
  readonly found: number;
  /** Where the prompt diverges from those that are cached. */
  readonly parted: number;
  readonly prompt: number;
  /** Tokens of the prompt and answer that the cache has in the end. */
  readonly tokens: number;
}

/**
 * After how many tokens a call leaves a state behind: its chunks end there, and the version keeps
 * it.
 */
function statesKept(rules: ReuseRules, { found, parted, prompt, tokens }: CallTokens): number[] {
  const { block, chunk, vllmVersion } = rules;
  const back = givesBack(rules);
  const behind = (count: number) => Math.max(0, whole(count, block) - (back ? block : 0));
  const every = !since(vllmVersion, LAST_STATE_ONLY);
  // The first versions never schedule a block that is wider than a chunk.
  if (every && block > chunk) return [];
  const last = behind(!back && since(vllmVersion, REPEATED_PROMPTS) ? prompt - 1 : prompt);
  // The first versions don't align chunks behind the last state.
  const aligned = every ? last : prompt;
  const ends: number[] = [];
  for (let start = found; start < prompt; ) {
    let end = Math.min(start + chunk, prompt);
    if (end < aligned && (whole(end, block) > start || block <= chunk)) end = whole(end, block);
    const next = start % block === 0 ? 0 : whole(start, block) + block;
    const stops = [next <= aligned ? next : 0, last, whole(parted, block)];
    end = Math.min(end, ...stops.filter((stop) => stop > start));
    ends.push(end);
    start = end;
  }
  const states = ends.filter((end) => end % block === 0);
  if (every) {
    for (let at = whole(prompt, block) + block; at <= tokens; at += block) states.push(at);
    return states;
  }
  const kept = back ? [behind(prompt - 1), behind(prompt)] : [whole(prompt - 1, block)];
  return states.filter((at) => kept.includes(at) || at === parted);
}

/**
 * Shares of its previous prompt that an agent's call finds again: of all calls together, and of the
 * worst one.
 */
export type AgentReuse = DataOf<typeof agentReuseSchema>;
type ReuseShares = Pick<AgentReuse, "usual" | "least">;

/** A loop of the specification's agents: 30K tokens at first, 1K to 4K more with each turn. */
const FIRST_PROMPT = 30_000;
const GROWTHS = [1000, 2000, 3000, 4000] as const;
const TURNS = 8;
const ANSWER = 300;

/**
 * Hybrids match in finer steps on all compared versions, and with draft tokens from this one on.
 */
const FINE_WITH_DRAFTS = "0.30";

/** What agents find again turn by turn; `unit` is that of `--prefix-match-unit`. */
export function agentReuse(rules: ReuseRules, unit?: number): AgentReuse {
  const turns = GROWTHS.flatMap((growth) => {
    const prompts = Array.from({ length: TURNS }, (_, turn) => FIRST_PROMPT + turn * growth);
    const calls = prompts.map((prompt) => [0, prompt, ANSWER] as const);
    const found = tokensFoundAgain(rules, 0, calls).slice(1);
    return found.map((tokens, turn) => ({ before: prompts[turn] ?? 0, tokens }));
  });
  const follows =
    rules.hybrid && (rules.drafts === 0 || since(rules.vllmVersion, FINE_WITH_DRAFTS));
  const shares = (step: number | undefined): ReuseShares => {
    const found = turns.map(({ before, tokens }) => {
      // Two steps at most are computed anew.
      const again = follows && step !== undefined ? before - 2 * step : tokens;
      return { before, again: Math.min(before, again) };
    });
    const sum = (key: "before" | "again") => found.reduce((total, turn) => total + turn[key], 0);
    return {
      usual: sum("again") / sum("before"),
      least: Math.min(...found.map(({ before, again }) => again / before)),
    };
  };
  return { ...shares(unit), inFineSteps: shares(SMALLEST_BLOCK) };
}

/** `97 %, at worst 94 %`: whole percents, rounded down. */
export const reuseText = ({ usual, least }: ReuseShares): string =>
  `${Math.floor(100 * usual)} %, at worst ${Math.floor(100 * least)} %`;
