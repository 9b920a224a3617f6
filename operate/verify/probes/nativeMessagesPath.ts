import { refusalText } from "../api";
import { claudeCodeBody, MESSAGES, userTurn } from "../claudeCodeBody";
import { isJsonObject, type JsonObject, parseJson } from "../json";
import { messagesAnswer } from "../messagesAnswer";
import { BadAnswer, fail, pass, type ServerProbe, type Verdict } from "../probe";
import { answerTokens } from "../prompts";
import { quote } from "../quote";
import type { ServerTarget } from "../targets";
import { READ_FILE, RUN_COMMAND, TOOL_REQUEST } from "../tools";
import { chatOnly } from "./completions";
import { modelName } from "./models";

/**
 * How often the test runs. At temperature 0 one run says nearly all and a second one guards against chance; at the
 * default temperature an affected build was reported to fail in nine runs out of ten, so three miss it once in a thousand.
 */
const RUNS = { zero: 2, default: 3 };

/** What the stack file says of the messages-style client's way. */
const SETTING = "clients.claudeCode.via";

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
    const model = await modelName(target);
    const outcomes: Outcome[] = [];
    for (let run = 0; run < RUNS.zero; run++) outcomes.push(await attempt(target, model, { temperature: 0 }));
    for (let run = 0; run < RUNS.default; run++) outcomes.push(await attempt(target, model, {}));
    return verdict(outcomes, target);
  },
};

interface Outcome {
  readonly passed: boolean;
  /** What was seen where it did not pass. */
  readonly seen: string;
}

async function attempt(target: ServerTarget, model: string, temperature: JsonObject): Promise<Outcome> {
  const { temperature: _, ...body } = claudeCodeBody({
    model,
    maxTokens: answerTokens(target.maxModelLen, target.server.model.thinking),
    tools: [READ_FILE, RUN_COMMAND],
    messages: [
      userTurn(TOOL_REQUEST),
      { role: "system", content: "The user's terminal is 120 columns wide." },
    ],
  });
  const answer = await target.api.post(MESSAGES, { ...body, ...temperature });
  const value = parseJson(answer.text);
  if (answer.status !== 200) return { passed: false, seen: `${answer.status}: ${refusalText(answer)}` };
  if (!isJsonObject(value)) throw new BadAnswer(`${MESSAGES} answered 200 without a JSON object`);
  const { calls, stopReason, blocks, text } = messagesAnswer(value);
  if (calls.length > 0) return { passed: true, seen: "" };
  return {
    passed: false,
    seen: `stop_reason ${quote(stopReason)}, blocks ${blocks.map(quote).join(", ") || "none"}: \`${quote(text)}\``,
  };
}

/** The outcome against the stack file. A build that fails is no fault where the bridge is already used instead. */
function verdict(outcomes: readonly Outcome[], target: ServerTarget): Verdict {
  const failed = outcomes.filter((outcome) => !outcome.passed);
  const [first] = failed;
  const key = `machines.${target.machine.name}.${SETTING}`;
  const runs = `${outcomes.length - failed.length} of ${outcomes.length} runs with a tool_use block`;
  if (first === undefined) {
    return target.messagesVia === "bridge"
      ? pass(`PASS (${runs}); the stack file goes through the bridge, which can be dropped`, `${key}: native`)
      : pass(`PASS (${runs})`);
  }
  const seen = `FAIL (${runs}); ${first.seen}`;
  if (target.messagesVia === "bridge" && !target.alone) {
    return pass(`${seen}. The bridge must be kept, and the stack file keeps it.`);
  }
  return fail(
    seen,
    target.messagesVia === "bridge"
      ? `Keep ${key}: bridge, as the stack file has it.`
      : `${key}: bridge (messages-style clients must not use this server directly)`,
  );
}
