import { type ChatAnswer, chatAnswer, chatAnswerOf } from "../chatAnswer";
import type { JsonObject } from "../json";
import { fail, pass, type ServerProbe, type Verdict } from "../probe";
import { answerTokens, GREETING } from "../prompts";
import { quote } from "../quote";
import type { ServerTarget } from "../targets";
import { chatTool, READ_FILE } from "../tools";
import { chatOnly } from "./completions";
import { modelName } from "./models";

export const CHAT = "/v1/chat/completions";

/** Body of a chat request. Thinking is off unless a probe is about it: the answer is what counts. */
export async function chatBody(target: ServerTarget, messages: readonly JsonObject[], more: JsonObject = {}) {
  return {
    model: await modelName(target),
    messages,
    max_tokens: answerTokens(target.maxModelLen, false),
    temperature: 0,
    ...(target.server.model.thinking ? { chat_template_kwargs: { enable_thinking: false } } : {}),
    ...more,
  };
}

const user = (content: string) => ({ role: "user", content });

const fix = ({ setting }: ServerTarget) =>
  `See ${setting("model")}: a model without a chat template is \`kind: base\`; another template is ${setting("chatTemplate")}.`;

const chat: ServerProbe = {
  name: "chat",
  about: "POST /v1/chat/completions answers with text",
  skip: chatOnly,
  fix,
  run: async (target) =>
    said(chatAnswer(await target.api.json(CHAT, await chatBody(target, [user(GREETING)]))), target),
};

const chatStream: ServerProbe = {
  name: "chat-stream",
  about: "POST /v1/chat/completions streams text and its usage",
  skip: chatOnly,
  fix,
  run: async (target) => {
    const body = await chatBody(target, [user(GREETING)], { stream_options: { include_usage: true } });
    const answer = chatAnswerOf(await target.api.stream(CHAT, body));
    if (answer.completionTokens === 0) {
      return fail(
        "the stream ended without the usage that was asked for",
        "Clients meter by it: see the server's version.",
      );
    }
    return said(answer, target);
  },
};

const chatToolResult: ServerProbe = {
  name: "chat-tool-result",
  about: "POST /v1/chat/completions goes on after a tool's result",
  skip: chatOnly,
  fix,
  run: async (target) => {
    const call = { name: READ_FILE.name, arguments: '{"path":"/etc/hostname"}' };
    const messages = [
      user("What is in /etc/hostname?"),
      { role: "assistant", content: null, tool_calls: [{ id: "call_1", type: "function", function: call }] },
      { role: "tool", tool_call_id: "call_1", content: "spark-1" },
    ];
    const body = await chatBody(target, messages, { tools: [chatTool(READ_FILE)], tool_choice: "auto" });
    return said(chatAnswer(await target.api.json(CHAT, body)), target);
  },
};

function said(answer: ChatAnswer, target: ServerTarget): Verdict {
  if (answer.content.trim() !== "") return pass(`\`${quote(answer.content)}\``);
  return fail(
    answer.reasoning === ""
      ? `the answer is empty (finish_reason ${quote(answer.finishReason)})`
      : "all of the answer is in `reasoning`, none in `content`",
    answer.reasoning === ""
      ? fix(target)
      : `${target.setting("model.thinking")}: false, if the model has no thinking mode: then no reasoning parser is passed.`,
  );
}

export const chatProbes: readonly ServerProbe[] = [chat, chatStream, chatToolResult];
