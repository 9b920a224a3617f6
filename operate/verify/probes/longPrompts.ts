import { chatAnswer } from "../chatAnswer";
import { fail, pass, type ServerProbe, type Verdict } from "../probe";
import { freshCode, longText } from "../prompts";
import { quote } from "../quote";
import type { ServerTarget } from "../targets";
import { CHAT, chatBody } from "./chat";
import { chatOnly } from "./completions";

/** Three times the length at which a tokenizer that truncates was seen to cut (2048). */
const NEEDLE_WORDS = 6_200;

/** Length from which the activations peak: the specification's agents send 30 to 40 thousand tokens on every call. */
const PEAK_TOKENS = 28_000;
const PEAK_WORDS = 28_400;

/** Room beside the text: the question, the template, the answer. */
const ROOM_TOKENS = 3_000;

/** Shares of words that even a frugal tokenizer needs tokens for. */
const FEWEST_TOKENS_PER_WORD = 0.7;

const tooShort = ({ maxModelLen }: ServerTarget, words: number) => {
  const needed = Math.ceil(words * 1.3) + ROOM_TOKENS;
  return maxModelLen >= needed
    ? undefined
    : `its window of ${maxModelLen} tokens is too short for a prompt of ${words} words (about ${needed} tokens with the answer)`;
};

const fix = ({ server }: ServerTarget) =>
  `See \`truncation.max_length\` in tokenizer.json of ${server.model.id} (and tokenizer_config.json): 2048 there cuts every prompt. Correct it in the model's folder below ${server.modelCache}, then restart the server. No server flag mends it.`;

const needle: ServerProbe = {
  name: "needle",
  about: "a code at each end of a long prompt is found: the tokenizer cuts nothing",
  skip: (target) => chatOnly(target) ?? tooShort(target, NEEDLE_WORDS),
  fix,
  run: (target) => findCodes(target, NEEDLE_WORDS),
};

const longPrompt: ServerProbe = {
  name: "long-prompt",
  about: "a prompt of 28,000 tokens and more is served: the activation peak fits",
  skip: (target) => chatOnly(target) ?? tooShort(target, PEAK_WORDS),
  fix: ({ setting }) =>
    `Memory at the peak: lower ${setting("maxNumBatchedTokens")}, or ${setting("gpuMemoryUtilization")} of this or its neighbour; see serving doctor. If it was only slow, a longer --timeout.`,
  run: async (target) => {
    const verdict = await findCodes(target, PEAK_WORDS, PEAK_TOKENS);
    if (verdict.status !== "pass") return verdict;
    const health = await target.api.get("/health");
    return health.status === 200
      ? verdict
      : fail(
          `answered, and then /health says ${health.status}`,
          "The engine died at the peak: see serving doctor.",
        );
  },
};

async function findCodes(target: ServerTarget, words: number, leastTokens = 0): Promise<Verdict> {
  const [first, last] = [freshCode(), freshCode()];
  const content = [
    `The first code is ${first}.`,
    longText(words),
    `The last code is ${last}.`,
    "Repeat the first code and the last code, nothing else.",
  ].join("\n");
  const started = performance.now();
  const body = await chatBody(target, [{ role: "user", content }]);
  const answer = chatAnswer(await target.api.json(CHAT, body));
  const seconds = (performance.now() - started) / 1000;
  const { promptTokens } = answer;
  if (promptTokens < Math.max(words * FEWEST_TOKENS_PER_WORD, leastTokens)) {
    return fail(
      `a prompt of ${words} words arrived as ${promptTokens} tokens: it was cut${promptTokens <= 2048 ? ", as a tokenizer with truncation at 2048 does" : ""}`,
      fix(target),
    );
  }
  const lost = [first, last].filter((code) => !answer.content.includes(code));
  if (lost.length === 0) return pass(`both codes found in ${promptTokens} tokens, ${seconds.toFixed(1)} s`);
  const where =
    lost.length === 2 ? "at both ends" : lost[0] === first ? "at the beginning" : "at the far end";
  return fail(
    `the code ${where} of ${promptTokens} tokens was not found; it said \`${quote(answer.content)}\``,
    fix(target),
  );
}

export const longPromptProbes: readonly ServerProbe[] = [needle, longPrompt];
