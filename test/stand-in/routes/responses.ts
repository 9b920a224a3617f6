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
import { type Generation, generate, letters, pieces, textOf, tokens } from "../generate";

/** OpenAI's Responses, which Codex speaks. */
export const responses: RouteTable = { "POST /v1/responses": respond };

const ITEM_ID = "item_stand_in";

function respond(exchange: Exchange): Reply {
  const { body, server } = exchange;
  const input =
    typeof body.input === "string" ? [{ role: "user", content: body.input }] : objects(body.input);
  const made = generate(exchange, {
    text: [
      String(body.instructions ?? ""),
      ...input.map((item) => textOf("output" in item ? item.output : item.content)),
    ].join(" "),
    maxTokens: tokens(body.max_output_tokens),
    tools: objects(body.tools)
      .filter((tool) => tool.type === "function")
      .map((tool) => ({
        name: String(tool.name),
        parameters: isObject(tool.parameters) ? tool.parameters : {},
      })),
    answersTool: input.some((item) => item.type === "function_call_output"),
    thinking: false,
  });
  const item = outputItem(made);
  const started = {
    id: "resp_stand_in",
    object: "response",
    created_at: 1_780_000_000,
    model: server.args.servedNames[0],
    status: "in_progress",
    output: [],
  };
  const finished = { ...started, status: "completed", output: [item], usage: responseUsage(made) };
  return body.stream === true
    ? { status: 200, stream: streamed(made, item, started, finished) }
    : ok(finished);
}

function outputItem(made: Generation): JsonObject {
  if (made.toolCall !== undefined) {
    return {
      id: ITEM_ID,
      type: "function_call",
      call_id: "call_stand_in",
      status: "completed",
      ...made.toolCall,
    };
  }
  return {
    id: ITEM_ID,
    type: "message",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: made.text, annotations: [] }],
  };
}

function responseUsage(made: Generation): JsonObject {
  return {
    input_tokens: made.promptTokens,
    output_tokens: made.completionTokens,
    total_tokens: made.promptTokens + made.completionTokens,
  };
}

function streamed(made: Generation, item: JsonObject, started: JsonObject, finished: JsonObject) {
  const events: StreamEvent[] = [];
  const say = (type: string, more: JsonObject) =>
    events.push({ event: type, data: { type, sequence_number: events.length, ...more } });
  const at = { item_id: ITEM_ID, output_index: 0 };
  say("response.created", { response: started });
  say("response.output_item.added", {
    output_index: 0,
    item: {
      ...item,
      status: "in_progress",
      ...(made.toolCall === undefined ? { content: [] } : { arguments: "" }),
    },
  });
  if (made.toolCall === undefined) {
    for (const delta of pieces(made.text)) {
      say("response.output_text.delta", { ...at, content_index: 0, delta });
    }
    say("response.output_text.done", { ...at, content_index: 0, text: made.text });
  } else {
    for (const delta of letters(made.toolCall.arguments)) {
      say("response.function_call_arguments.delta", { ...at, delta });
    }
    say("response.function_call_arguments.done", { ...at, arguments: made.toolCall.arguments });
  }
  say("response.output_item.done", { output_index: 0, item });
  say("response.completed", { response: finished });
  return events;
}
