import { fail, pass, quote, type Verdict } from "../probe";
import { CHAT } from "../surfaces/chat";
import type { ProbesOf, ServerTarget } from "../target";
import { freshCode, longText } from "../tools";
import { answerOf, fitting } from "./asking";
import { reuseProbes } from "./prefixReuse";

/** Three times the length at which a tokenizer that truncates was seen to cut (2048). */
const NEEDLE_WORDS = 6_200;

/** Length from which the activations peak: the specification's agents send 30 to 40 thousand tokens on every call. */
const PEAK_TOKENS = 28_000;
const PEAK_WORDS = 28_400;

/** Room beside the text: the question, the template, the answer. */
const ROOM_TOKENS = 3_000;

/** Fewest tokens that a word takes, even by a frugal tokenizer. */
const FEWEST_TOKENS_PER_WORD = 0.7;

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
  ...reuseProbes,
];

async function findCodes(target: ServerTarget, words: number, leastTokens = 0): Promise<Verdict> {
  const [first, last] = [freshCode(), freshCode()];
  const told = [`The first code is ${first}.`, longText(words), `The last code is ${last}.`];
  const turns = [...told, "Repeat the first code and the last code, nothing else."].join("\n");
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
