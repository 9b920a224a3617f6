import { defined } from "@local-serving/base/faults/defined";
import { checkFields, RefusedRequest } from "../errors";
import {
  answeringName,
  type Exchange,
  isObject,
  type JsonObject,
  nulls,
  objects,
  ok,
  type Reply,
  type RouteTable,
  type StreamEvent,
} from "../exchange";
import {
  countTokens,
  type Generation,
  generate,
  letters,
  pieces,
  type Tool,
  textOf,
  tokens,
} from "../generate";
import { CHOICE_NULLS, fingerprint, usage, wholeAnswer } from "./completions";

/** OpenAI's chat, with structured tool calls and reasoning in a field of its own. */
export const chat: RouteTable = { "POST /v1/chat/completions": answer };

const CALL_ID = "call_stand_in";

function answer(exchange: Exchange): Reply {
  const { body, server } = exchange;
  checkFields(body, "messages");
  if (body.max_tokens === 0)
    throw new RefusedRequest(
      400,
      "BadRequestError",
      "max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)",
      "max_tokens",
    );
  const messages = objects(body.messages);
  const kwargs = isObject(body.chat_template_kwargs) ? body.chat_template_kwargs : {};
  const said = generate(exchange, {
    text: messages.map((message) => textOf(message.content)).join(" "),
    maxTokens: tokens(body.max_completion_tokens) ?? tokens(body.max_tokens),
    tools: body.tool_choice === "none" ? [] : objects(body.tools).flatMap(functionTool),
    answersTool: messages.at(-1)?.role === "tool",
    thinking: kwargs.enable_thinking !== false,
  });
  const made = isObject(body.response_format)
    ? { ...said, text: JSON.stringify({ ok: true }) }
    : said;
  const head = {
    id: "chatcmpl-stand-in",
    created: 1_780_000_000,
    model: answeringName(exchange),
  };
  if (body.stream === true)
    return { status: 200, stream: streamed(made, head, body, server.version) };
  return ok({
    ...head,
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: message(made),
        logprobs: null,
        finish_reason: finishReason(made),
        ...nulls(...CHOICE_NULLS),
      },
    ],
    ...wholeAnswer(server.version),
    ...nulls("prompt_logprobs", "prompt_token_ids", "prompt_text"),
    usage: { ...chatUsage(made), ...nulls("prompt_tokens_details") },
  });
}

function functionTool(tool: JsonObject): Tool[] {
  const declared = isObject(tool.function) ? tool.function : undefined;
  if (declared === undefined) return [];
  return [
    {
      name: String(declared.name),
      parameters: isObject(declared.parameters) ? declared.parameters : {},
    },
  ];
}

function message(made: Generation): JsonObject {
  return {
    role: "assistant",
    content: made.toolCall === undefined ? made.text : null,
    ...nulls("refusal", "annotations", "audio", "function_call"),
    reasoning: made.reasoning ?? null,
    ...defined({
      tool_calls: made.toolCall && [{ id: CALL_ID, type: "function", function: made.toolCall }],
    }),
  };
}

const chatUsage = (made: Generation) => ({
  ...usage(made),
  completion_tokens_details: { reasoning_tokens: countTokens(made.reasoning ?? "") },
});

const finishReason = (made: Generation) => (made.toolCall === undefined ? "stop" : "tool_calls");

function streamed(
  made: Generation,
  head: JsonObject,
  body: JsonObject,
  version: string,
): StreamEvent[] {
  const chunk = (choices: JsonObject[], more: JsonObject = {}): StreamEvent => ({
    data: { ...head, object: "chat.completion.chunk", choices, ...more },
  });
  const delta = (part: JsonObject) =>
    chunk([{ index: 0, delta: part, logprobs: null, finish_reason: null, token_ids: null }]);
  const options = isObject(body.stream_options) ? body.stream_options : {};
  const call = made.toolCall;
  const usageWanted = options.include_usage === true;
  const start = {
    index: 0,
    delta: { role: "assistant", content: "" },
    logprobs: null,
    finish_reason: null,
  };
  const end = {
    index: 0,
    delta: {},
    logprobs: null,
    finish_reason: finishReason(made),
    ...nulls("stop_reason", "token_ids"),
  };
  const mark = { system_fingerprint: fingerprint(version) };
  return [
    chunk([start], nulls("prompt_token_ids", "prompt_text")),
    ...pieces(made.reasoning ?? "").map((reasoning) => delta({ reasoning })),
    ...pieces(made.text).map((content) => delta({ content })),
    ...(call === undefined
      ? []
      : [
          delta({
            tool_calls: [
              { index: 0, id: CALL_ID, type: "function", function: { name: call.name } },
            ],
          }),
          ...letters(call.arguments).map((piece) =>
            delta({ tool_calls: [{ index: 0, function: { arguments: piece } }] }),
          ),
        ]),
    chunk([end], usageWanted ? {} : mark),
    ...(usageWanted ? [chunk([], { usage: chatUsage(made), ...mark })] : []),
    { data: "[DONE]" },
  ];
}
