import { setTimeout as sleep } from "node:timers/promises";
import { chatAnswer } from "../chatAnswer";
import { readMetrics } from "../metrics";
import { fail, pass, type ServerProbe } from "../probe";
import { longText } from "../prompts";
import type { ServerTarget } from "../targets";
import { chatTool, LIST_FOLDER, READ_FILE, RUN_COMMAND } from "../tools";
import { CHAT, chatBody } from "./chat";
import { chatOnly } from "./completions";

/**
 * Length of the repeated part. Hits come in whole blocks, and a hybrid model's block was seen at up to 2144 tokens, so
 * three blocks fit.
 */
const PREFIX_WORDS = 6_600;
const ROOM_TOKENS = 4_000;

/** Two blocks of 2144 in a prompt of 6,600 tokens and more are 0.6; half is clearly reuse, and near zero clearly none. */
const LEAST_HIT_RATE = 0.5;

/** Metrics follow a request by a moment. */
const WAITS = { times: 20, milliseconds: 100 };

/** An agent's next call repeats nearly all of the one before: what the server reuses of it, by its own counters. */
export const prefixReuse: ServerProbe = {
  name: "prefix-reuse",
  about: "an agent's second call reuses the first one's prefix (/metrics)",
  skip: (target) =>
    chatOnly(target) ??
    (target.maxModelLen >= PREFIX_WORDS * 1.3 + ROOM_TOKENS
      ? undefined
      : `its window of ${target.maxModelLen} tokens is too short for an agent's prompt`),
  fix: ({ setting }) => `${setting("prefixCaching")}: true`,
  run: async (target) => {
    const system = { role: "system", content: `You are a coding agent.\n${longText(PREFIX_WORDS)}` };
    const first = { role: "user", content: "Say ready." };
    await answered(target, [system, first]);
    const before = await counters(target);
    await answered(target, [
      system,
      first,
      { role: "assistant", content: "Ready." },
      { role: "user", content: "Say done." },
    ]);
    const after = await settled(target, before.queries);
    const queries = after.queries - before.queries;
    const hits = after.hits - before.hits;
    const rate = queries > 0 ? hits / queries : 0;
    const seen = `${Math.round(rate * 100)} % of the second call's prompt came from the cache (${hits} of ${queries} tokens)`;
    if (rate >= LEAST_HIT_RATE) return pass(seen);
    return fail(
      seen,
      target.server.container.command.includes("--no-enable-prefix-caching")
        ? `${target.setting("prefixCaching")}: true`
        : `${target.setting("prefixCaching")} is on: see in the log whether the KV cache is too small to keep it, or whether other traffic ran meanwhile; newer server builds also reuse more of hybrid models.`,
    );
  },
};

async function answered(target: ServerTarget, messages: readonly { role: string; content: string }[]) {
  const tools = [READ_FILE, RUN_COMMAND, LIST_FOLDER].map(chatTool);
  const body = await chatBody(target, messages, { tools, tool_choice: "none", max_tokens: 64 });
  return chatAnswer(await target.api.json(CHAT, body));
}

async function counters({ api }: ServerTarget) {
  const metrics = await readMetrics(api);
  return {
    queries: metrics.sum("vllm:prefix_cache_queries_total") ?? 0,
    hits: metrics.sum("vllm:prefix_cache_hits_total") ?? 0,
  };
}

async function settled(target: ServerTarget, queriesBefore: number) {
  for (let wait = 0; wait < WAITS.times; wait++) {
    const now = await counters(target);
    if (now.queries > queriesBefore) return now;
    await sleep(WAITS.milliseconds);
  }
  return counters(target);
}
