import { refusalText } from "../api";
import { claudeCodeBody, MESSAGES, userTurn } from "../claudeCodeBody";
import { isJsonObject, type JsonObject, objectOr, parseJson, textOr } from "../json";
import { type MessagesAnswer, messagesAnswer, messagesAnswerOf } from "../messagesAnswer";
import { fail, pass, type ServerProbe, type Verdict } from "../probe";
import { answerTokens } from "../prompts";
import { quote } from "../quote";
import type { ServerTarget } from "../targets";
import { callFault, holdsCallAsText, READ_FILE, RUN_COMMAND, TOOL_REQUEST } from "../tools";
import { chatOnly } from "./completions";
import { modelName, servedModels } from "./models";

const TOOLS = [READ_FILE, RUN_COMMAND];

const fix = ({ setting }: ServerTarget) =>
  `The messages surface needs a vLLM of 0.26 or later (${setting("image")}); until it works keep clients.claudeCode.via: bridge.`;

/** A greeting; what comes back is all that counts, so a thinking model is told not to. */
async function plain(target: ServerTarget, model?: string) {
  const { maxModelLen, server } = target;
  return claudeCodeBody({
    model: model ?? (await modelName(target)),
    maxTokens: answerTokens(maxModelLen, false),
    withoutThinking: server.model.thinking,
  });
}

/** As an agent asks: it thinks first where it can. */
async function withTools(target: ServerTarget) {
  return claudeCodeBody({
    model: await modelName(target),
    maxTokens: answerTokens(target.maxModelLen, target.server.model.thinking),
    tools: TOOLS,
    messages: [userTurn(TOOL_REQUEST)],
  });
}

const messages: ServerProbe = {
  name: "messages",
  about: "POST /v1/messages with a Claude Code body answers with text",
  skip: chatOnly,
  fix,
  run: async (target) => said(messagesAnswer(await target.api.json(MESSAGES, await plain(target))), target),
};

const messagesStream: ServerProbe = {
  name: "messages-stream",
  about: "the same streamed, to its message_stop",
  skip: chatOnly,
  fix,
  run: async (target) =>
    said(messagesAnswerOf(await target.api.stream(MESSAGES, await plain(target))), target),
};

const messagesTools: ServerProbe = {
  name: "messages-tools",
  about: "POST /v1/messages with tools: a tool_use block",
  skip: chatOnly,
  fix,
  run: async (target) =>
    used(messagesAnswer(await target.api.json(MESSAGES, await withTools(target))), target),
};

const messagesToolsStream: ServerProbe = {
  name: "messages-tools-stream",
  about: "the same streamed",
  skip: chatOnly,
  fix,
  run: async (target) =>
    used(messagesAnswerOf(await target.api.stream(MESSAGES, await withTools(target))), target),
};

const countTokens: ServerProbe = {
  name: "count-tokens",
  about: "POST /v1/messages/count_tokens counts, and counts more for more",
  skip: chatOnly,
  fix,
  run: async (target) => {
    const model = await modelName(target);
    const count = async (text: string) =>
      Number(
        (await target.api.json(`${MESSAGES}/count_tokens`, { model, messages: [userTurn(text)] }))
          .input_tokens,
      );
    const [short, long] = [await count("one two"), await count("one two three four five six seven eight")];
    if (short > 0 && long > short) return pass(`${short} tokens, then ${long}`);
    return fail(`it counted ${short} tokens in two words and ${long} in eight`, fix(target));
  },
};

const alias: ServerProbe = {
  name: "alias",
  about: "an alias is answered, under the canonical name",
  skip: (target) => chatOnly(target) ?? (target.aliases.length > 0 ? undefined : "no alias is declared"),
  fix: ({ setting }) => `The names are ${setting("servedModelName")} and ${setting("aliases")}.`,
  run: async (target) => {
    const [asked = ""] = target.aliases;
    const canonical = textOr((await servedModels(target.api))[0]?.id);
    const answer = messagesAnswer(await target.api.json(MESSAGES, await plain(target, asked)));
    if (answer.model === canonical && canonical !== "")
      return pass(`asked for \`${asked}\`, it answers as \`${quote(answer.model)}\``);
    return fail(
      `asked for \`${asked}\`, it answers as \`${quote(answer.model)}\` and not as \`${quote(canonical)}\``,
      `The first name is the canonical one: ${target.setting("servedModelName")}. Something between client and server may rewrite names.`,
    );
  },
};

/** A tier that nobody pinned: the 404 that looks like a network failure in a client. */
const UNKNOWN_TIER = "claude-unpinned-tier";

const unknownTier: ServerProbe = {
  name: "unknown-tier",
  about: "a model that is not served is refused with 404",
  skip: chatOnly,
  fix: () => "Clients must learn of a wrong name: what answers here is not vLLM alone.",
  run: async (target) => {
    const answer = await target.api.post(MESSAGES, await plain(target, UNKNOWN_TIER));
    const body = parseJson(answer.text);
    const message = textOr(objectOr(isJsonObject(body) ? body.error : undefined).message);
    if (answer.status === 404 && message.includes(UNKNOWN_TIER)) return pass(`404: ${quote(message)}`);
    return fail(
      `asked for \`${UNKNOWN_TIER}\` it answered ${answer.status}: ${refusalText(answer)}`,
      "vLLM answers 404 and names the model; pin all model variables of the client (clients.claudeCode).",
    );
  },
};

function said(answer: MessagesAnswer, target: ServerTarget): Verdict {
  if (answer.text.trim() !== "") return pass(`\`${quote(answer.text)}\``);
  return fail(
    `no text (stop_reason ${quote(answer.stopReason)}, blocks: ${answer.blocks.map(quote).join(", ") || "none"})`,
    answer.blocks.includes("thinking")
      ? `${target.setting("model.thinking")}: false, if the model has no thinking mode.`
      : fix(target),
  );
}

/** Judges a call over /v1/messages: a tool_use block with whole arguments, and a stop_reason that says so. */
export function used(answer: MessagesAnswer, { setting }: Pick<ServerTarget, "setting">): Verdict {
  const parser = `${setting("tools.parser")}: the parser of the model's family (qwen3_xml where the call stands as XML).`;
  const [call] = answer.calls;
  if (call === undefined) {
    return fail(
      holdsCallAsText(answer.text)
        ? `no tool_use block, the call stands as text: \`${quote(answer.text)}\``
        : `no tool_use block (stop_reason ${quote(answer.stopReason)}); it said \`${quote(answer.text)}\``,
      parser,
    );
  }
  const fault = callFault(TOOLS, call.name, call.input);
  if (fault !== undefined) return fail(fault, parser);
  if (answer.stopReason !== "tool_use") {
    return fail(`there is a tool_use block, and stop_reason is \`${quote(answer.stopReason)}\``, parser);
  }
  return pass(`${call.name}(${quote(JSON.stringify(call.input satisfies JsonObject | string))})`);
}

export const messagesProbes: readonly ServerProbe[] = [
  messages,
  messagesStream,
  messagesTools,
  messagesToolsStream,
  countTokens,
  alias,
  unknownTier,
];
