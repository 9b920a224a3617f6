import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@local-serving/base/faults/json";
import { isCutOff } from "../../rules/answers";
import { toWrite } from "../../rules/rule";
import { cacheTypeInstead } from "../../rules/subjects/asPlanned";
import { quote } from "../../sees/answer";
import type { Api } from "../../sees/api";
import { gpuText, whileWatched } from "../../sees/gpu";
import { cacheCounters } from "../../sees/metrics";
import { fail, pass, type Verdict } from "../probe";
import { CHAT } from "../surfaces/chat";
import { MESSAGES, userTurn } from "../surfaces/messages";
import type { Question } from "../surfaces/surface";
import type { ProbesOf, ServerTarget } from "../target";
import { freshCode, LIST_FOLDER, longText, READ_FILE, RUN_COMMAND } from "../tools";
import { answerOf, asItSays, chatOnly, cutOff, fitting } from "./asking";

/**
 * Length of the repeated part. Hits come in whole blocks, and a hybrid model's block was seen at up
 * to 2176 tokens, so three blocks fit.
 */
const PREFIX_WORDS = 6_600;

/** Room beside the text: the tools, the template, the answer. */
const AGENT_ROOM_TOKENS = 4_000;

/**
 * Two blocks of 2176 in a prompt of 6,600 tokens and more are 0.6; half is clearly reuse, and near
 * zero clearly none.
 */
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

const cachingFix = ({ setting }: ServerTarget) =>
  `${toWrite(`${setting("prefixCaching")}: true`)}.`;

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
  if (!server.serve.prefixCaching) return fail(seen, cachingFix(target));
  const fix = `${setting("prefixCaching")} is on. A hybrid model finds only whole blocks (serving plan shows the block), one less with draft tokens (--prefix-match-unit 16). Or the KV cache is too small to keep the prompt, or other requests ran meanwhile.`;
  return fail(seen, fix);
}

/**
 * The same as Claude Code asks it, by the API that it is given: the second call has a new element
 * of role `system` behind its user turn. An adapter or a template that moves it to the front
 * changes the prompt from its first tokens on.
 */
export function reuseAsTheClient(
  server: Api,
  asked: Api,
  question: Pick<Question, "model">,
): Promise<FoundAgain> {
  // In the turn, as the files that an agent reads: system text and tools stand before it, in
  // whatever order a template has.
  const first: readonly JsonObject[] = [userTurn(`${longText(PREFIX_WORDS)}\nSay ready.`)];
  const more: readonly JsonObject[] = [
    { role: "assistant", content: [{ type: "text", text: "Ready." }] },
    userTurn("Say done."),
    {
      role: "system",
      content: [{ type: "text", text: "The user's terminal is 120 columns wide." }],
    },
  ];
  return foundAgain(server, (second) => {
    const turns = second ? [...first, ...more] : first;
    return asked.json(
      MESSAGES.path,
      MESSAGES.ask({ ...question, turns, tools: TOOLS, maxTokens: ANSWER_TOKENS }),
    );
  });
}

/** What the second of two calls found again, by the server's own counters. */
async function foundAgain(
  server: Api,
  call: (second: boolean) => Promise<unknown>,
): Promise<FoundAgain> {
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

/** Three times the length at which a tokenizer that truncates was seen to cut (2048). */
const NEEDLE_WORDS = 6_200;

/**
 * Length from which the activations peak: the specification's agents send 30 to 40 thousand tokens
 * on every call.
 */
const PEAK_TOKENS = 28_000;
const PEAK_WORDS = 28_400;

/** Room beside the text: the question, the template, the answer. */
const ROOM_TOKENS = 3_000;

/** Fewest tokens that a word takes, even by a frugal tokenizer. */
const FEWEST_TOKENS_PER_WORD = 0.7;

/** A prompt that arrived whole, and of which the answer has lost something. */
const lostFix = ({ server, setting }: ServerTarget, prompt: number) => {
  const cache = cacheTypeInstead(server.container.command, setting("kvCacheDtype"));
  const other = cache === undefined ? "" : `${cache}, `;
  return `The prompt arrived whole, by its ${prompt} tokens: it is the model that doesn't find them. Try ${other}the model without a longer window than its own, or another build or quantization.`;
};

const tokenizerFix = ({ server }: ServerTarget) =>
  `See \`truncation.max_length\` in tokenizer.json of ${server.model.id} (and tokenizer_config.json): 2048 there cuts every prompt. Correct it in the model's folder below ${server.modelCache}, then restart the server. No server flag fixes it. If a proxy stands before vLLM and shortens prompts, ask vLLM itself (--base-url).`;

export const longPromptProbes: ProbesOf<"inference-server"> = [
  {
    name: "needle",
    about: "a code at each end of a long prompt is found: the tokenizer cuts nothing",
    skip: fitting(NEEDLE_WORDS, ROOM_TOKENS),
    fix: asItSays,
    run: (target) => findCodes(target, NEEDLE_WORDS),
  },
  {
    name: "long-prompt",
    about: "a prompt of 28,000 tokens and more is served: the activation peak fits",
    skip: fitting(PEAK_WORDS, ROOM_TOKENS),
    fix: ({ setting }) =>
      `If memory ran out at the peak, lower ${setting("maxNumBatchedTokens")}, or ${setting("gpuMemoryUtilization")} of this server or its neighbour; see serving doctor. If it was only slow, set a longer --timeout.`,
    run: async (target) => {
      const verdict = await findCodes(target, PEAK_WORDS, PEAK_TOKENS);
      if (verdict.status !== "pass") return verdict;
      const { status } = await target.api.get("/health");
      if (status === 200) return verdict;
      return fail(
        `it answered, but then /health says ${status}`,
        "The engine died at the peak: see serving doctor.",
      );
    },
  },
  {
    name: "prefix-reuse",
    about: "an agent's second call reuses the first one's prefix (/metrics)",
    skip: fitting(PREFIX_WORDS, AGENT_ROOM_TOKENS),
    fix: asItSays,
    run: reusePrefix,
  },
];

async function findCodes(target: ServerTarget, words: number, leastTokens = 0): Promise<Verdict> {
  const [first, last] = [freshCode(), freshCode()];
  const told = [`The first code is ${first}.`, longText(words), `The last code is ${last}.`];
  const turns = [...told, "Repeat the first code and the last code, nothing else."].join("\n");
  const started = performance.now();
  const { result: answer, gpu } = await whileWatched(target.host, () =>
    answerOf(target, CHAT, { turns }),
  );
  const { text, stop, tokens } = answer;
  const { prompt } = tokens;
  const seconds = (performance.now() - started) / 1000;
  if (prompt < Math.max(words * FEWEST_TOKENS_PER_WORD, leastTokens)) {
    const why = prompt <= 2048 ? ", as a tokenizer with truncation at 2048 does" : "";
    return fail(
      `a prompt of ${words} words arrived as ${prompt} tokens: it was cut${why}`,
      tokenizerFix(target),
    );
  }
  if (isCutOff(stop)) return cutOff(answer);
  const lost = [first, last].filter((code) => !text.includes(code));
  if (lost.length === 0)
    return pass(
      `both codes found in ${prompt} tokens, ${seconds.toFixed(1)} s${gpu === undefined ? "" : ` (${gpuText(gpu)})`}`,
    );
  const where =
    lost.length === 2 ? "at both ends" : lost[0] === first ? "at the beginning" : "at the far end";
  return fail(
    `the code ${where} of ${prompt} tokens was not found; it said \`${quote(text)}\``,
    lostFix(target, prompt),
  );
}
