import { refusalText } from "../api";
import { claudeCodeBody, MESSAGES, userTurn } from "../claudeCodeBody";
import { isJsonObject, type JsonObject, parseJson } from "../json";
import { messagesAnswer } from "../messagesAnswer";
import { BadAnswer, fail, pass, type ServerProbe, type Verdict } from "../probe";
import { answerTokens } from "../prompts";
import { quote } from "../quote";
import type { ServerTarget } from "../targets";
import { messagesTool, READ_FILE, RUN_COMMAND, TOOL_REQUEST } from "../tools";
import { chatOnly } from "./completions";
import { modelName } from "./models";

/** What the stack file says of the messages-style client's way. */
const SETTING = "clients.claudeCode.via";

const TOOLS = [READ_FILE, RUN_COMMAND];
const REMINDER = "The user's terminal is 120 columns wide.";

/** What a form needs to know of the server. */
interface Asked {
  readonly model: string;
  readonly maxTokens: number;
}

/** The request as the specification has it: texts where it has texts. */
function specified({ model, maxTokens }: Asked): JsonObject {
  return {
    model,
    max_tokens: maxTokens,
    system: "You are a coding agent.",
    tools: TOOLS.map(messagesTool),
    messages: [
      { role: "user", content: TOOL_REQUEST },
      { role: "system", content: REMINDER },
    ],
  };
}

/** The same as Claude Code sends it: lists of blocks everywhere. */
function asTheClientSends({ model, maxTokens }: Asked): JsonObject {
  const reminder = { role: "system", content: [{ type: "text", text: REMINDER }] };
  const { temperature: _, ...body } = claudeCodeBody({
    model,
    maxTokens,
    tools: TOOLS,
    messages: [userTurn(TOOL_REQUEST), reminder],
  });
  return body;
}

/**
 * The runs. At temperature 0 one run a form says nearly all; at the default temperature an affected build was reported to
 * fail in nine runs out of ten, so three miss it once in a thousand.
 */
const RUNS: readonly { readonly form: (asked: Asked) => JsonObject; readonly temperature?: 0 }[] = [
  { form: specified, temperature: 0 },
  { form: asTheClientSends, temperature: 0 },
  { form: specified },
  { form: asTheClientSends },
  { form: specified },
];

/**
 * The native-path test: tools, a user turn, and behind it an element of role `system` as the last of messages[].
 * PASS is a tool_use block; then the bridge can be dropped. The outcome can't be told from the server's version.
 */
export const nativeMessagesPath: ServerProbe = {
  name: "native-messages-path",
  about: "a system element behind the user turn: does the tool call stay structured?",
  skip: chatOnly,
  fix: () => `${SETTING}: bridge, until the test passes.`,
  run: async (target) => {
    const asked = {
      model: await modelName(target),
      maxTokens: answerTokens(target.maxModelLen, target.server.model.thinking),
    };
    const outcomes: Outcome[] = [];
    for (const { form, temperature } of RUNS) {
      outcomes.push(
        await attempt(target, { ...form(asked), ...(temperature === undefined ? {} : { temperature }) }),
      );
    }
    return verdict(outcomes, target);
  },
};

interface Outcome {
  /** `undecided`: neither a tool_use block nor a turn that ended with text, so that nothing is known of the build. */
  readonly outcome: "passed" | "failed" | "undecided";
  /** What was seen where it did not pass. */
  readonly seen: string;
}

async function attempt({ api }: ServerTarget, body: JsonObject): Promise<Outcome> {
  const answer = await api.post(MESSAGES, body);
  const value = parseJson(answer.text);
  if (answer.status !== 200) {
    const refused = answer.status === 400 || answer.status === 422;
    return { outcome: refused ? "failed" : "undecided", seen: `${answer.status}: ${refusalText(answer)}` };
  }
  if (!isJsonObject(value)) throw new BadAnswer(`${MESSAGES} answered 200 without a JSON object`);
  const { calls, stopReason, blocks, text } = messagesAnswer(value);
  if (calls.length > 0) return { outcome: "passed", seen: "" };
  return {
    outcome: stopReason === "end_turn" ? "failed" : "undecided",
    seen: `stop_reason ${quote(stopReason)}, blocks ${blocks.map(quote).join(", ") || "none"}: \`${quote(text)}\``,
  };
}

/** The outcome against the stack file. A build that fails is no fault where the bridge is already used instead. */
function verdict(outcomes: readonly Outcome[], target: ServerTarget): Verdict {
  const failed = outcomes.find(({ outcome }) => outcome === "failed");
  const open = outcomes.find(({ outcome }) => outcome === "undecided");
  const passed = outcomes.filter(({ outcome }) => outcome === "passed").length;
  const key = `machines.${target.machine.name}.${SETTING}`;
  const runs = `${passed} of ${outcomes.length} runs with a tool_use block`;
  const kept = target.messagesVia === "bridge" && !target.alone;
  if (failed !== undefined) {
    const seen = `FAIL (${runs}); ${failed.seen}`;
    if (kept) return pass(`${seen}. The bridge must be kept, and the stack file keeps it.`);
    return fail(
      seen,
      target.messagesVia === "bridge"
        ? `Keep ${key}: bridge, as the stack file has it.`
        : `${key}: bridge (messages-style clients must not use this server directly)`,
    );
  }
  if (open !== undefined) {
    return fail(
      `undecided (${runs}); ${open.seen}`,
      `Neither a call nor the end of a turn: mend what chat-tools and messages-tools say, then repeat this test.${kept ? "" : ` Until then ${key}: bridge.`}`,
    );
  }
  return target.messagesVia === "bridge"
    ? pass(`PASS (${runs}); the stack file goes through the bridge, which can be dropped`, `${key}: native`)
    : pass(`PASS (${runs})`);
}
