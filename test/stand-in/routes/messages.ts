import { checkFields, checkModel } from "../errors";
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
  textOf,
  tokens,
} from "../generate";

/** Anthropic's Messages, which Claude Code speaks. */
export const messages: RouteTable = {
  "POST /v1/messages": answer,
  "POST /v1/messages/count_tokens": (exchange) => {
    checkModel(exchange);
    const counted = countTokens(promptText(exchange.body));
    return ok({ input_tokens: counted, context_management: { original_input_tokens: counted } });
  },
};

function promptText(body: JsonObject): string {
  return [
    textOf(body.system),
    ...objects(body.messages).map((message) => textOf(message.content)),
  ].join(" ");
}

function answer(exchange: Exchange): Reply {
  const { body } = exchange;
  checkFields(body, "messages", "max_tokens");
  const last = objects(body.messages).at(-1);
  const made = generate(exchange, {
    text: promptText(body),
    maxTokens: tokens(body.max_tokens),
    tools: objects(body.tools).map((tool) => ({
      name: String(tool.name),
      parameters: isObject(tool.input_schema) ? tool.input_schema : {},
    })),
    answersTool: objects(last?.content).some((part) => part.type === "tool_result"),
    // `thinking` of the request changes nothing.
    thinking: true,
  });
  const head = {
    id: "chatcmpl-stand-in",
    type: "message",
    role: "assistant",
    model: answeringName(exchange),
  };
  if (body.stream === true) return { status: 200, stream: streamed(made, head) };
  return ok({
    ...head,
    content: contentBlocks(made),
    stop_reason: stopReason(made),
    usage: usage(made),
  });
}

const usage = (made: Generation) => ({
  input_tokens: made.promptTokens,
  output_tokens: made.completionTokens,
});

const SIGNATURE = "5ca1ab1e";

const stopReason = (made: Generation) => (made.toolCall === undefined ? "end_turn" : "tool_use");

function contentBlocks(made: Generation): JsonObject[] {
  const thinking =
    made.reasoning === undefined
      ? []
      : [{ type: "thinking", thinking: made.reasoning, signature: SIGNATURE }];
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

function streamed(made: Generation, head: JsonObject): StreamEvent[] {
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
    say("message_start", {
      message: {
        ...head,
        content: [],
        ...nulls("stop_reason", "stop_sequence"),
        usage: { ...usage(made), output_tokens: 0 },
      },
    }),
    ...blocks,
    say("message_delta", {
      delta: { stop_reason: stopReason(made), stop_sequence: null },
      usage: usage(made),
    }),
    say("message_stop"),
  ];
}

function blockStream(
  block: JsonObject,
  made: Generation,
): { open: JsonObject; deltas: JsonObject[] } {
  if (block.type === "tool_use") {
    const deltas = letters(made.toolCall?.arguments ?? "{}").map((partial_json) => ({
      type: "input_json_delta",
      partial_json,
    }));
    return { open: { ...block, input: {} }, deltas };
  }
  if (block.type === "thinking") {
    const deltas = pieces(made.reasoning ?? "").map((thinking) => ({
      type: "thinking_delta",
      thinking,
    }));
    return {
      open: { type: "thinking", thinking: "" },
      deltas: [...deltas, { type: "signature_delta", signature: SIGNATURE }],
    };
  }
  const deltas = pieces(made.text).map((text) => ({ type: "text_delta", text }));
  return { open: { type: "text", text: "" }, deltas };
}
