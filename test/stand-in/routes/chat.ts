import {
  type Exchange,
  isObject,
  type JsonObject,
  objects,
  ok,
  type Reply,
  type RouteTable,
  type StreamEvent,
} from "../exchange";
import { type Generation, generate, letters, pieces, type Tool, textOf, tokens } from "../generate";
import { usage } from "./completions";

/** OpenAI's chat, with structured tool calls and reasoning in a field of its own. */
export const chat: RouteTable = { "POST /v1/chat/completions": answer };

const CALL_ID = "call_stand_in";

function answer(exchange: Exchange): Reply {
  const { body, server } = exchange;
  const messages = objects(body.messages);
  const kwargs = isObject(body.chat_template_kwargs) ? body.chat_template_kwargs : {};
  const said = generate(exchange, {
    text: messages.map((message) => textOf(message.content)).join(" "),
    maxTokens: tokens(body.max_completion_tokens) ?? tokens(body.max_tokens),
    tools: body.tool_choice === "none" ? [] : objects(body.tools).flatMap(functionTool),
    answersTool: messages.at(-1)?.role === "tool",
    thinking: kwargs.enable_thinking !== false,
  });
  const made = isObject(body.response_format) ? { ...said, text: JSON.stringify({ ok: true }) } : said;
  const head = { id: "chatcmpl-stand-in", created: 1_780_000_000, model: server.args.servedNames[0] };
  if (body.stream === true) return { status: 200, stream: streamed(made, head, body) };
  return ok({
    ...head,
    object: "chat.completion",
    choices: [{ index: 0, message: message(made), logprobs: null, finish_reason: finishReason(made) }],
    usage: usage(made),
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
    reasoning: made.reasoning ?? null,
    tool_calls:
      made.toolCall === undefined ? [] : [{ id: CALL_ID, type: "function", function: made.toolCall }],
  };
}

const finishReason = (made: Generation) => (made.toolCall === undefined ? "stop" : "tool_calls");

function streamed(made: Generation, head: JsonObject, body: JsonObject): StreamEvent[] {
  const chunk = (choices: JsonObject[], more: JsonObject = {}): StreamEvent => ({
    data: { ...head, object: "chat.completion.chunk", choices, ...more },
  });
  const delta = (part: JsonObject, finish_reason: string | null = null) =>
    chunk([{ index: 0, delta: part, logprobs: null, finish_reason }]);
  const options = isObject(body.stream_options) ? body.stream_options : {};
  const call = made.toolCall;
  return [
    delta({ role: "assistant", content: "" }),
    ...pieces(made.reasoning ?? "").map((reasoning) => delta({ reasoning })),
    ...pieces(made.text).map((content) => delta({ content })),
    ...(call === undefined
      ? []
      : [
          delta({
            tool_calls: [
              { index: 0, id: CALL_ID, type: "function", function: { name: call.name, arguments: "" } },
            ],
          }),
          ...letters(call.arguments).map((piece) =>
            delta({ tool_calls: [{ index: 0, function: { arguments: piece } }] }),
          ),
        ]),
    delta({}, finishReason(made)),
    ...(options.include_usage === true ? [chunk([], { usage: usage(made) })] : []),
    { data: "[DONE]" },
  ];
}
