import { objectOr } from "@local-serving/base/faults/json";
import { type MiscountedPart, PARTS, timesText } from "../../rules/serverSeen";
import { BadAnswer } from "../../sees/answer";
import { type Api, oneToken } from "../../sees/api";
import { fail, pass, skip, type Verdict } from "../probe";
import { CHAT } from "../surfaces/chat";
import { MESSAGES, userTurn } from "../surfaces/messages";
import { RESPONSES } from "../surfaces/responses";
import { type Question, type Surface, tokenCount } from "../surfaces/surface";
import type { ProbesOf, ServerTarget } from "../target";
import { fillerText, READ_FILE } from "../tools";
import { answerOf, asItSays, chatOnly, modelName } from "./asking";

type Part = keyof typeof PARTS;
const ALL = Object.keys(PARTS) as Part[];
type Texts = Readonly<Record<Part, string>>;

/** A conversation of an agent, as short as one can be. */
const SHORT: Texts = {
  system: "You are a coding agent.",
  turn: "What is in /etc/hostname?",
  result: "spark-1",
};

/** Lines that each part is longer by, so that no sum of parts that are missing and doubled is that of all. */
const LINES: Readonly<Record<Part, number>> = { system: 2, turn: 4, result: 8 };

/** On one line: a template may write a result as JSON, in which each line break takes tokens. */
const moreOf = (lines: number): string => fillerText(lines).replaceAll("\n", " ");
const wordsIn = (text: string): number => text.split(/\s+/).length;

const EVERY_LINE = ALL.reduce((sum, part) => sum + LINES[part], 0);
const MORE_WORDS = wordsIn(moreOf(EVERY_LINE));

const CALL = { id: "call_1", name: READ_FILE.name, path: "/etc/hostname" };
const ARGUMENTS = JSON.stringify({ path: CALL.path });

/** The same conversation on each API, as its agents send it. */
const CONVERSATIONS: readonly (readonly [Surface, (texts: Texts) => Partial<Question>])[] = [
  [
    CHAT,
    ({ system, turn, result }) => ({
      turns: [
        { role: "system", content: system },
        { role: "user", content: turn },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            {
              id: CALL.id,
              type: "function",
              function: { name: CALL.name, arguments: ARGUMENTS },
            },
          ],
        },
        { role: "tool", tool_call_id: CALL.id, content: result },
      ],
    }),
  ],
  [
    RESPONSES,
    ({ system, turn, result }) => ({
      turns: [
        { type: "message", role: "user", content: [{ type: "input_text", text: turn }] },
        { type: "function_call", call_id: CALL.id, name: CALL.name, arguments: ARGUMENTS },
        { type: "function_call_output", call_id: CALL.id, output: result },
      ],
      more: { instructions: system },
    }),
  ],
  [
    MESSAGES,
    ({ system, turn, result }) => ({
      turns: [
        userTurn(turn),
        {
          role: "assistant",
          content: [{ type: "tool_use", id: CALL.id, name: CALL.name, input: { path: CALL.path } }],
        },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: CALL.id, content: result }],
        },
      ],
      more: { system: [{ type: "text", text: system }] },
    }),
  ],
];

/**
 * Whether what was sent arrived once, by the tokens of the prompt: a template that leaves a part
 * out, or a proxy that drops it, answers all the same. Two requests of one token; where their
 * prompts don't differ by what the words take, one more for each part.
 */
const promptProbe = ([
  surface,
  conversation,
]: (typeof CONVERSATIONS)[number]): ProbesOf<"inference-server">[number] => ({
  name: `${surface.name}-prompt`,
  about: `POST ${surface.path}: system prompt, earlier turns and a tool's result reach the model, each once`,
  skip: chatOnly,
  fix: asItSays,
  run: async (target) => {
    const tokensWith = (...longer: Part[]) => {
      const texts = { ...SHORT };
      for (const part of longer) texts[part] = `${SHORT[part]}\n${moreOf(LINES[part])}`;
      return promptTokens(target, surface, conversation(texts));
    };
    const without = await tokensWith();
    if (without === 0) return skip("it doesn't say how many tokens a prompt has");
    const perLine = (await tokensOfText(target, surface)) / EVERY_LINE;
    if (perLine <= 0) return skip("it doesn't say how many tokens a text has");
    const more = (await tokensWith(...ALL)) - without;
    // Half of the shortest part is less than any part that is missing, or comes again.
    const most = (perLine * Math.min(...Object.values(LINES))) / 2;
    if (Math.abs(more - perLine * EVERY_LINE) < most) return arrived(more);
    const parts: Omit<MiscountedPart, "probe">[] = [];
    for (const part of ALL) {
      const having = await tokensWith(part);
      const times = Math.max(0, Math.round((having - without) / (perLine * LINES[part])));
      const words = wordsIn(moreOf(LINES[part]));
      if (times !== 1)
        parts.push({ path: surface.path, part, times, words, tokens: [without, having] });
    }
    return parts.length === 0 ? arrived(more) : miscounted(parts);
  },
});

async function promptTokens(target: ServerTarget, surface: Surface, question: Partial<Question>) {
  const asked = { maxTokens: 1, tools: [READ_FILE], ...question };
  return (await answerOf(target, surface, asked)).tokens.prompt;
}

/** What the words take by each server's own tokenizer, which is asked once. */
const TOKENS_OF_TEXT = new WeakMap<Api, number>();

/**
 * Tokens of all further words by the server's own tokenizer. A text goes around the chat template;
 * where none is answered, a user's only message is compared with a longer one.
 */
async function tokensOfText(target: ServerTarget, surface: Surface): Promise<number> {
  const { api } = target;
  const known = TOKENS_OF_TEXT.get(api);
  if (known !== undefined) return known;
  const tokens = (await tokensOfPlainText(target)) || (await tokensOfMessage(target, surface));
  TOKENS_OF_TEXT.set(api, tokens);
  return tokens;
}

async function tokensOfPlainText(target: ServerTarget): Promise<number> {
  const asked = { ...oneToken(await modelName(target)), prompt: moreOf(EVERY_LINE) };
  try {
    const { usage } = await target.api.json("/v1/completions", asked);
    return tokenCount(objectOr(usage).prompt_tokens);
  } catch (error) {
    if (error instanceof BadAnswer) return 0;
    throw error;
  }
}

async function tokensOfMessage(target: ServerTarget, surface: Surface): Promise<number> {
  const tokens = async (turns: string) =>
    (await answerOf(target, surface, { maxTokens: 1, turns })).tokens.prompt;
  return (await tokens(`${SHORT.turn}\n${moreOf(EVERY_LINE)}`)) - (await tokens(SHORT.turn));
}

const arrived = (more: number): Verdict =>
  pass(`${MORE_WORDS} words more in ${Object.values(PARTS).join(", ")} are ${more} tokens more`);

function miscounted(parts: readonly Omit<MiscountedPart, "probe">[]): Verdict {
  const said = parts.map(({ part, times, words, tokens: [without, having] }) => {
    const how = times === 0 ? "left out of the prompt" : `in the prompt ${timesText(times)}`;
    return `${how}: ${PARTS[part]} (${words} words more: ${having} tokens after ${without})`;
  });
  return { ...fail(said.join(", ")), parts };
}

export const promptProbes: ProbesOf<"inference-server"> = CONVERSATIONS.map(promptProbe);
