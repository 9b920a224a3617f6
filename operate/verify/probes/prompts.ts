import { type LostPart, PARTS } from "../../rules/serverSeen";
import { fail, pass, skip, type Verdict } from "../probe";
import { CHAT } from "../surfaces/chat";
import { MESSAGES, userTurn } from "../surfaces/messages";
import { RESPONSES } from "../surfaces/responses";
import type { Question, Surface } from "../surfaces/surface";
import type { ProbesOf, ServerTarget } from "../target";
import { fillerText, READ_FILE } from "../tools";
import { answerOf, chatOnly } from "./asking";

type Part = keyof typeof PARTS;
const ALL = Object.keys(PARTS) as Part[];
type Texts = Readonly<Record<Part, string>>;

/** A conversation of an agent, as short as one can be. */
const SHORT: Texts = {
  system: "You are a coding agent.",
  turn: "What is in /etc/hostname?",
  result: "spark-1",
};

const MORE = fillerText(4);
const WORDS = MORE.split(/\s+/).length;

/**
 * Tokens for each further word from which no part of three can be missing: the others would have to
 * take a third more than any word does.
 */
const NONE_MISSING = 0.9;

/** Fewest tokens that a further word takes where it arrives at all. */
const ARRIVES = 0.35;

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
 * Whether what was sent arrived, by the tokens of the prompt: a template that leaves a part out, or
 * a proxy that drops it, answers all the same. Two requests of one token each; where their prompts
 * don't differ as they should, one more for each part.
 */
const promptProbe = ([
  surface,
  conversation,
]: (typeof CONVERSATIONS)[number]): ProbesOf<"inference-server">[number] => ({
  name: `${surface.name}-prompt`,
  about: `POST ${surface.path}: system prompt, earlier turns and a tool's result reach the model`,
  skip: chatOnly,
  fix: ({ setting }) => `The chat template makes the prompt: see ${setting("chatTemplate")}.`,
  run: async (target) => {
    const tokensWith = (...longer: Part[]) => {
      const texts = { ...SHORT };
      for (const part of longer) texts[part] = `${SHORT[part]}\n${MORE}`;
      return promptTokens(target, surface, conversation(texts));
    };
    const without = await tokensWith();
    if (without === 0) return skip("it doesn't say how many tokens a prompt has");
    const more = (await tokensWith(...ALL)) - without;
    if (more >= NONE_MISSING * ALL.length * WORDS) return arrived(more);
    const lost: Omit<LostPart, "probe">[] = [];
    for (const part of ALL) {
      const having = await tokensWith(part);
      if (having - without >= ARRIVES * WORDS) continue;
      lost.push({ path: surface.path, part, words: WORDS, tokens: [without, having] });
    }
    return lost.length === 0 ? arrived(more) : notArrived(lost);
  },
});

async function promptTokens(target: ServerTarget, surface: Surface, question: Partial<Question>) {
  const asked = { maxTokens: 1, tools: [READ_FILE], ...question };
  return (await answerOf(target, surface, asked)).tokens.prompt;
}

const arrived = (more: number): Verdict =>
  pass(
    `${ALL.length * WORDS} words more in ${Object.values(PARTS).join(", ")} are ${more} tokens more`,
  );

function notArrived(lost: readonly Omit<LostPart, "probe">[]): Verdict {
  const said = lost.map(
    ({ part, words, tokens: [without, having] }) =>
      `${PARTS[part]} (${words} words more: ${having} tokens after ${without})`,
  );
  return { ...fail(`left out of the prompt: ${said.join(", ")}`), lost };
}

export const promptProbes: ProbesOf<"inference-server"> = CONVERSATIONS.map(promptProbe);
