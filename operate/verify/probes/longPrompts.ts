import { setTimeout as sleep } from "node:timers/promises";
import { cacheCounters } from "../metrics";
import { fail, pass, quote, type Verdict } from "../probe";
import { CHAT } from "../surfaces/chat";
import type { ProbesOf, ServerTarget } from "../target";
import { freshCode, LIST_FOLDER, longText, READ_FILE, RUN_COMMAND } from "../tools";
import { answerOf, chatOnly } from "./asking";

/** Three times the length at which a tokenizer that truncates was seen to cut (2048). */
const NEEDLE_WORDS = 6_200;

/** Length from which the activations peak: the specification's agents send 30 to 40 thousand tokens on every call. */
const PEAK_TOKENS = 28_000;
const PEAK_WORDS = 28_400;

/**
 * Length of the repeated part. Hits come in whole blocks, and a hybrid model's block was seen at up to 2144 tokens, so
 * three blocks fit.
 */
const PREFIX_WORDS = 6_600;

/** Room beside the text: the question, the template, the answer; for an agent's prompt its tools, too. */
const ROOM_TOKENS = 3_000;
const AGENT_ROOM_TOKENS = 4_000;

/** Most tokens that a word takes, and fewest, even by a frugal tokenizer. */
const MOST_TOKENS_PER_WORD = 1.3;
const FEWEST_TOKENS_PER_WORD = 0.7;

/** Two blocks of 2144 in a prompt of 6,600 tokens and more are 0.6; half is clearly reuse, and near zero clearly none. */
const LEAST_HIT_RATE = 0.5;

/** Metrics follow a request by a moment. */
const WAITS = { times: 20, milliseconds: 100 };

const fitting = (words: number, room: number) => (target: ServerTarget) => {
  const needed = Math.ceil(words * MOST_TOKENS_PER_WORD) + room;
  return (
    chatOnly(target) ??
    (target.maxModelLen >= needed
      ? undefined
      : `its window of ${target.maxModelLen} tokens is too short for a prompt of ${words} words (about ${needed} tokens with the answer)`)
  );
};

const tokenizerFix = ({ server }: ServerTarget) =>
  `See \`truncation.max_length\` in tokenizer.json of ${server.model.id} (and tokenizer_config.json): 2048 there cuts every prompt. Correct it in the model's folder below ${server.modelCache}, then restart the server. No server flag fixes it.`;

export const longPromptProbes: ProbesOf<"inference-server"> = [
  {
    name: "needle",
    about: "a code at each end of a long prompt is found: the tokenizer cuts nothing",
    skip: fitting(NEEDLE_WORDS, ROOM_TOKENS),
    fix: tokenizerFix,
    run: (target) => findCodes(target, NEEDLE_WORDS),
  },
  {
    name: "long-prompt",
    about: "a prompt of 28,000 tokens and more is served: the activation peak fits",
    skip: fitting(PEAK_WORDS, ROOM_TOKENS),
    fix: ({ setting }) =>
      `Memory at the peak: lower ${setting("maxNumBatchedTokens")}, or ${setting("gpuMemoryUtilization")} of this server or its neighbour; see serving doctor. If it was only slow, a longer --timeout.`,
    run: async (target) => {
      const verdict = await findCodes(target, PEAK_WORDS, PEAK_TOKENS);
      if (verdict.status !== "pass") return verdict;
      const { status } = await target.api.get("/health");
      if (status === 200) return verdict;
      return fail(`answered, and then /health says ${status}`, "The engine died at the peak: see serving doctor.");
    },
  },
  {
    name: "prefix-reuse",
    about: "an agent's second call reuses the first one's prefix (/metrics)",
    skip: fitting(PREFIX_WORDS, AGENT_ROOM_TOKENS),
    fix: ({ setting }) => `${setting("prefixCaching")}: true`,
    run: reusePrefix,
  },
];

async function findCodes(target: ServerTarget, words: number, leastTokens = 0): Promise<Verdict> {
  const [first, last] = [freshCode(), freshCode()];
  const turns = [
    `The first code is ${first}.`,
    longText(words),
    `The last code is ${last}.`,
    "Repeat the first code and the last code, nothing else.",
  ].join("\n");
  const started = performance.now();
  const { text, tokens: { prompt = 0 } = {} } = await answerOf(target, CHAT, { turns });
  const seconds = (performance.now() - started) / 1000;
  if (prompt < Math.max(words * FEWEST_TOKENS_PER_WORD, leastTokens)) {
    const why = prompt <= 2048 ? ", as a tokenizer with truncation at 2048 does" : "";
    return fail(`a prompt of ${words} words arrived as ${prompt} tokens: it was cut${why}`, tokenizerFix(target));
  }
  const lost = [first, last].filter((code) => !text.includes(code));
  if (lost.length === 0) return pass(`both codes found in ${prompt} tokens, ${seconds.toFixed(1)} s`);
  const where = lost.length === 2 ? "at both ends" : lost[0] === first ? "at the beginning" : "at the far end";
  return fail(`the code ${where} of ${prompt} tokens was not found; it said \`${quote(text)}\``, tokenizerFix(target));
}

/** An agent's next call repeats nearly all of the one before. The server's own counters say how much of it is reused. */
async function reusePrefix(target: ServerTarget): Promise<Verdict> {
  const { setting, server } = target;
  const turns = [
    { role: "system", content: `You are a coding agent.\n${longText(PREFIX_WORDS)}` },
    { role: "user", content: "Say ready." },
    { role: "assistant", content: "Ready." },
    { role: "user", content: "Say done." },
  ];
  const call = (length: number) =>
    answerOf(target, CHAT, {
      turns: turns.slice(0, length),
      tools: [READ_FILE, RUN_COMMAND, LIST_FOLDER],
      maxTokens: 64,
      more: { tool_choice: "none" },
    });
  await call(2);
  const before = await cacheCounters(target.api);
  await call(4);
  const after = await settled(target, before.queries);
  const queries = after.queries - before.queries;
  const hits = after.hits - before.hits;
  const rate = queries > 0 ? hits / queries : 0;
  const seen = `${Math.round(rate * 100)} % of the second call's prompt came from the cache (${hits} of ${queries} tokens)`;
  if (rate >= LEAST_HIT_RATE) return pass(seen);
  return fail(
    seen,
    !server.serve.prefixCaching
      ? `${setting("prefixCaching")}: true`
      : `${setting("prefixCaching")} is on: a hybrid model finds whole blocks only (the block of serving plan), with draft tokens one less (--prefix-match-unit 16); see also whether the KV cache is too small to keep the prompt, or other requests ran meanwhile.`,
  );
}

async function settled(target: ServerTarget, queriesBefore: number) {
  for (let wait = 0; wait < WAITS.times; wait++) {
    const now = await cacheCounters(target.api);
    if (now.queries > queriesBefore) return now;
    await sleep(WAITS.milliseconds);
  }
  return cacheCounters(target.api);
}
