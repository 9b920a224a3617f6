import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "../../../faults/json";
import type { Api } from "../api";
import { cacheCounters } from "../metrics";
import { fail, pass, type Verdict } from "../probe";
import { CHAT } from "../surfaces/chat";
import { MESSAGES, userTurn } from "../surfaces/messages";
import type { Question } from "../surfaces/surface";
import type { ProbesOf, ServerTarget } from "../target";
import { LIST_FOLDER, longText, READ_FILE, RUN_COMMAND } from "../tools";
import { answerOf, chatOnly, fitting } from "./asking";

/**
 * Length of the repeated part. Hits come in whole blocks, and a hybrid model's block was seen at up to 2176 tokens, so
 * three blocks fit.
 */
const PREFIX_WORDS = 6_600;

/** Room beside the text: the tools, the template, the answer. */
const AGENT_ROOM_TOKENS = 4_000;

/** Two blocks of 2176 in a prompt of 6,600 tokens and more are 0.6; half is clearly reuse, and near zero clearly none. */
const LEAST_HIT_RATE = 0.5;

/** Metrics follow a request by a moment. */
const WAITS = { times: 20, milliseconds: 100 };

const TOOLS = [READ_FILE, RUN_COMMAND, LIST_FOLDER];
const ANSWER_TOKENS = 64;

/** What a server found again of a call's prompt. */
interface FoundAgain {
  /** Half of it or more. */
  readonly reused: boolean;
  readonly seen: string;
}

/** Why an agent's second call can't tell what is found again; `undefined` if it can. */
export const noReuse = (target: ServerTarget) =>
  chatOnly(target) ??
  fitting(PREFIX_WORDS, AGENT_ROOM_TOKENS)(target) ??
  (target.server.serve.prefixCaching ? undefined : `${target.setting("prefixCaching")} is off`);

export const reuseProbes: ProbesOf<"inference-server"> = [
  {
    name: "prefix-reuse",
    about: "an agent's second call reuses the first one's prefix (/metrics)",
    skip: fitting(PREFIX_WORDS, AGENT_ROOM_TOKENS),
    fix: ({ setting }) => `${setting("prefixCaching")}: true`,
    run: reusePrefix,
  },
];

/** An agent's next call repeats nearly all of the one before. */
async function reusePrefix(target: ServerTarget): Promise<Verdict> {
  const { setting, server } = target;
  const turns = [
    { role: "system", content: `You are a coding agent.\n${longText(PREFIX_WORDS)}` },
    { role: "user", content: "Say ready." },
    { role: "assistant", content: "Ready." },
    { role: "user", content: "Say done." },
  ];
  const asked = { tools: TOOLS, maxTokens: ANSWER_TOKENS, more: { tool_choice: "none" } };
  const { reused, seen } = await foundAgain(target.api, (second) =>
    answerOf(target, CHAT, { ...asked, turns: turns.slice(0, second ? 4 : 2) }),
  );
  if (reused) return pass(seen);
  if (!server.serve.prefixCaching) return fail(seen, `${setting("prefixCaching")}: true`);
  const fix = `${setting("prefixCaching")} is on: a hybrid model finds whole blocks only (the block of serving plan), with draft tokens one less (--prefix-match-unit 16); see also whether the KV cache is too small to keep the prompt, or other requests ran meanwhile.`;
  return fail(seen, fix);
}

/**
 * The same as Claude Code asks it, by the API that it is given: the second call has a new element of role `system` behind
 * its user turn. An adapter or a template that moves it to the front changes the prompt from its first tokens on.
 */
export function reuseAsTheClient(server: Api, asked: Api, question: Pick<Question, "model">): Promise<FoundAgain> {
  // In the turn, as the files that an agent reads: system text and tools stand before it, in whatever order a template has.
  const first: readonly JsonObject[] = [userTurn(`${longText(PREFIX_WORDS)}\nSay ready.`)];
  const more: readonly JsonObject[] = [
    { role: "assistant", content: [{ type: "text", text: "Ready." }] },
    userTurn("Say done."),
    { role: "system", content: [{ type: "text", text: "The user's terminal is 120 columns wide." }] },
  ];
  return foundAgain(server, (second) => {
    const turns = second ? [...first, ...more] : first;
    return asked.json(MESSAGES.path, MESSAGES.ask({ ...question, turns, tools: TOOLS, maxTokens: ANSWER_TOKENS }));
  });
}

/** What the second of two calls found again, by the server's own counters. */
async function foundAgain(server: Api, call: (second: boolean) => Promise<unknown>): Promise<FoundAgain> {
  await call(false);
  const before = await cacheCounters(server);
  await call(true);
  const after = await settled(server, before.queries);
  const queries = after.queries - before.queries;
  const hits = after.hits - before.hits;
  const rate = queries > 0 ? hits / queries : 0;
  const share = `${Math.round(rate * 100)} % of the second call's prompt came from the cache`;
  return { reused: rate >= LEAST_HIT_RATE, seen: `${share} (${hits} of ${queries} tokens)` };
}

async function settled(server: Api, queriesBefore: number) {
  for (let wait = 0; wait < WAITS.times; wait++) {
    const now = await cacheCounters(server);
    if (now.queries > queriesBefore) return now;
    await sleep(WAITS.milliseconds);
  }
  return cacheCounters(server);
}
