import { type ChatAnswer, chatAnswer, chatAnswerOf } from "../chatAnswer";
import type { JsonObject } from "../json";
import { fail, pass, type ServerProbe, type Verdict } from "../probe";
import { answerTokens } from "../prompts";
import { quote } from "../quote";
import type { ServerTarget } from "../targets";
import {
  callFault,
  chatTool,
  holdsCallAsText,
  LIST_FOLDER,
  type OfferedTool,
  READ_FILE,
  RUN_COMMAND,
  TOOL_REQUEST,
} from "../tools";
import { CHAT, chatBody } from "./chat";
import { chatOnly } from "./completions";

const SEVERAL = [RUN_COMMAND, LIST_FOLDER, READ_FILE];

const fix = ({ setting }: ServerTarget) =>
  `${setting("tools.autoChoice")}: true and ${setting("tools.parser")}: the parser of the model's family.`;

async function request(target: ServerTarget, tools: readonly OfferedTool[], more: JsonObject = {}) {
  return chatBody(target, [{ role: "user", content: TOOL_REQUEST }], {
    tools: tools.map(chatTool),
    tool_choice: "auto",
    ...more,
  });
}

const chatTools: ServerProbe = {
  name: "chat-tools",
  about: "POST /v1/chat/completions with a tool: a structured tool_calls[]",
  skip: chatOnly,
  fix,
  run: async (target) =>
    judge(chatAnswer(await target.api.json(CHAT, await request(target, [READ_FILE]))), [READ_FILE], target),
};

const chatToolsStream: ServerProbe = {
  name: "chat-tools-stream",
  about: "the same streamed: the pieces make one whole call",
  skip: chatOnly,
  fix,
  run: async (target) => {
    const events = await target.api.stream(CHAT, await request(target, [READ_FILE]));
    return judge(chatAnswerOf(events), [READ_FILE], target);
  },
};

const chatSeveralTools: ServerProbe = {
  name: "chat-several-tools",
  about: "several tools: the one that was asked for is called",
  skip: chatOnly,
  fix,
  run: async (target) => {
    const answer = chatAnswer(await target.api.json(CHAT, await request(target, SEVERAL)));
    const verdict = judge(answer, SEVERAL, target);
    if (verdict.status !== "pass" || answer.calls.some((call) => call.name === READ_FILE.name))
      return verdict;
    return fail(
      `asked for \`${READ_FILE.name}\` it called \`${quote(answer.calls[0]?.name ?? "")}\``,
      `The call is structured, the choice is the model's: try ${target.setting("tools.parser")} of its family, or another model.`,
    );
  },
};

const chatToolsThinking: ServerProbe = {
  name: "chat-tools-thinking",
  about: "a tool call while the model thinks",
  skip: (target) =>
    chatOnly(target) ?? (target.server.model.thinking ? undefined : "its model has no thinking mode"),
  fix,
  run: async (target) => {
    const body = await request(target, [READ_FILE], {
      max_tokens: answerTokens(target.maxModelLen, true),
      chat_template_kwargs: { enable_thinking: true },
    });
    return judge(chatAnswer(await target.api.json(CHAT, body)), [READ_FILE], target);
  },
};

/** The rule: usable for coding only when the call is structured. Says where it went instead, and what to set. */
function judge(answer: ChatAnswer, tools: readonly OfferedTool[], target: ServerTarget): Verdict {
  const { setting } = target;
  if (answer.calls.length === 0) {
    if (holdsCallAsText(answer.reasoning)) {
      return fail(
        `tool_calls is empty, the call stands as XML in \`reasoning\`: \`${quote(answer.reasoning)}\``,
        `The reasoning parser intercepts. For a model without a thinking mode ${setting("model.thinking")}: false, and no ${setting("reasoningParser")}.`,
      );
    }
    if (holdsCallAsText(answer.content)) {
      return fail(
        `tool_calls is empty, the call stands as XML in \`content\`: \`${quote(answer.content)}\``,
        `${setting("tools.parser")}: ${otherParser(target)}`,
      );
    }
    return fail(`no tool was called; it said \`${quote(answer.content)}\``, fix(target));
  }
  for (const call of answer.calls) {
    const fault = callFault(tools, call.name, call.arguments);
    if (fault !== undefined) return fail(fault, `${setting("tools.parser")}: ${otherParser(target)}`);
  }
  if (holdsCallAsText(answer.content)) {
    return fail(
      "the call is structured and stands in `content` once more",
      `${setting("tools.parser")}: ${otherParser(target)}`,
    );
  }
  const [first] = answer.calls;
  return pass(`${first?.name}(${quote(first?.arguments ?? "")})`);
}

/** The parser to try next. */
function otherParser({ server }: ServerTarget): string {
  return server.container.command.includes("qwen3_xml")
    ? "qwen3_coder"
    : "qwen3_xml (for another family its own)";
}

export const chatToolProbes: readonly ServerProbe[] = [
  chatTools,
  chatToolsStream,
  chatSeveralTools,
  chatToolsThinking,
];
