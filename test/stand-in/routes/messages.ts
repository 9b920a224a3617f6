import { checkModel } from "../errors";
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
import { countTokens, type Generation, generate, letters, pieces, textOf, tokens } from "../generate";

/** Anthropic's Messages, which Claude Code speaks. */
export const messages: RouteTable = {
  "POST /v1/messages": answer,
  "POST /v1/messages/count_tokens": (exchange) => {
    checkModel(exchange);
    return ok({ input_tokens: countTokens(promptText(exchange.body)) });
  },
};

function promptText(body: JsonObject): string {
  return [textOf(body.system), ...objects(body.messages).map((message) => textOf(message.content))].join(" ");
}

function answer(exchange: Exchange): Reply {
  const { body, server } = exchange;
  const last = objects(body.messages).at(-1);
  const made = generate(exchange, {
    text: promptText(body),
    maxTokens: tokens(body.max_tokens),
    tools: objects(body.tools).map((tool) => ({
      name: String(tool.name),
      parameters: isObject(tool.input_schema) ? tool.input_schema : {},
    })),
    answersTool: objects(last?.content).some((part) => part.type === "tool_result"),
    thinking: isObject(body.thinking) && body.thinking.type === "enabled",
  });
  const started = {
    id: "msg_stand_in",
    type: "message",
    role: "assistant",
    model: server.args.servedNames[0],
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: made.promptTokens, output_tokens: 0 },
  };
  if (body.stream === true) return { status: 200, stream: streamed(made, started) };
  return ok({
    ...started,
    content: contentBlocks(made),
    stop_reason: stopReason(made),
    usage: { input_tokens: made.promptTokens, output_tokens: made.completionTokens },
  });
}

const stopReason = (made: Generation) => (made.toolCall === undefined ? "end_turn" : "tool_use");

function contentBlocks(made: Generation): JsonObject[] {
  const thinking =
    made.reasoning === undefined ? [] : [{ type: "thinking", thinking: made.reasoning, signature: "" }];
  const said =
    made.toolCall === undefined
      ? { type: "text", text: made.text }
      : {
          type: "tool_use",
          id: "toolu_stand_in",
          name: made.toolCall.name,
          input: JSON.parse(made.toolCall.arguments) as JsonObject,
        };
  return [...thinking, said];
}

function streamed(made: Generation, started: JsonObject): StreamEvent[] {
  const say = (type: string, more: JsonObject = {}): StreamEvent => ({
    event: type,
    data: { type, ...more },
  });
  const blocks = contentBlocks(made).flatMap((block, index) => {
    const { open, deltas } = blockStream(block, made);
    return [
      say("content_block_start", { index, content_block: open }),
      ...deltas.map((delta) => say("content_block_delta", { index, delta })),
      say("content_block_stop", { index }),
    ];
  });
  return [
    say("message_start", { message: started }),
    ...blocks,
    say("message_delta", {
      delta: { stop_reason: stopReason(made), stop_sequence: null },
      usage: { output_tokens: made.completionTokens },
    }),
    say("message_stop"),
  ];
}

function blockStream(block: JsonObject, made: Generation): { open: JsonObject; deltas: JsonObject[] } {
  if (block.type === "tool_use") {
    const deltas = letters(made.toolCall?.arguments ?? "{}").map((partial_json) => ({
      type: "input_json_delta",
      partial_json,
    }));
    return { open: { ...block, input: {} }, deltas };
  }
  if (block.type === "thinking") {
    const deltas = pieces(made.reasoning ?? "").map((thinking) => ({ type: "thinking_delta", thinking }));
    return { open: { ...block, thinking: "" }, deltas };
  }
  const deltas = pieces(made.text).map((text) => ({ type: "text_delta", text }));
  return { open: { type: "text", text: "" }, deltas };
}
