import { checkFields } from "../errors";
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

/** OpenAI's Responses, which Codex speaks. */
export const responses: RouteTable = { "POST /v1/responses": respond };

const CREATED = 1_780_000_000;

function respond(exchange: Exchange): Reply {
  const { body, server } = exchange;
  // Its reader has put a field of its own there before it looks.
  checkFields({ ...body, request_id: "" }, "input");
  const input =
    typeof body.input === "string" ? [{ role: "user", content: body.input }] : objects(body.input);
  const tools = objects(body.tools).filter((tool) => tool.type === "function");
  const made = generate(exchange, {
    text: [
      String(body.instructions ?? ""),
      ...input.map((item) => textOf("output" in item ? item.output : item.content)),
    ].join(" "),
    maxTokens: tokens(body.max_output_tokens),
    tools: tools.map((tool) => ({
      name: String(tool.name),
      parameters: isObject(tool.parameters) ? tool.parameters : {},
    })),
    answersTool: input.some((item) => item.type === "function_call_output"),
    thinking: true,
  });
  const started = {
    id: "resp_stand_in",
    object: "response",
    created_at: CREATED,
    model: answeringName(exchange),
    status: "in_progress",
    output: [],
    ...SETTINGS,
    max_output_tokens:
      tokens(body.max_output_tokens) ?? server.args.maxModelLen - made.promptTokens,
    tool_choice: tools.length === 0 ? "none" : (body.tool_choice ?? "auto"),
    tools: tools.map((tool) => ({ ...TOOL_NULLS, ...tool })),
    usage: null,
  };
  const output = [...reasoningItem(made), outputItem(made)];
  const finished = { ...started, status: "completed", output, usage: responseUsage(made) };
  return body.stream === true
    ? { status: 200, stream: streamed(made, started, finished) }
    : ok(finished);
}

/**
 * What every answer says of the request; the fields that nothing here reads are as vLLM's defaults
 * are.
 */
const SETTINGS = {
  parallel_tool_calls: true,
  temperature: 1,
  top_p: 1,
  background: false,
  service_tier: "auto",
  truncation: "disabled",
  presence_penalty: 0,
  frequency_penalty: 0,
  ...nulls(
    "incomplete_details",
    "instructions",
    "metadata",
    "max_tool_calls",
    "previous_response_id",
  ),
  ...nulls("prompt", "reasoning", "text", "top_logprobs", "user"),
  ...nulls("kv_transfer_params", "ec_transfer_params", "input_messages", "output_messages"),
};
const TOOL_NULLS = nulls(
  "strict",
  "allowed_callers",
  "async",
  "defer_loading",
  "description",
  "output_schema",
);

const reasoningItem = ({ reasoning }: Generation): JsonObject[] =>
  reasoning === undefined
    ? []
    : [
        {
          id: "rs_stand_in",
          type: "reasoning",
          summary: [],
          content: [{ type: "reasoning_text", text: reasoning }],
          ...nulls("encrypted_content", "status"),
        },
      ];

function outputItem(made: Generation): JsonObject {
  if (made.toolCall !== undefined) {
    return {
      id: "fc_stand_in",
      type: "function_call",
      call_id: "call_stand_in",
      status: "completed",
      ...nulls("async", "caller", "namespace"),
      ...made.toolCall,
    };
  }
  return {
    id: "msg_stand_in",
    type: "message",
    role: "assistant",
    status: "completed",
    phase: null,
    content: [{ type: "output_text", text: made.text, annotations: [], logprobs: null }],
  };
}

const perTurn = (name: string) => ({ [`${name}_tokens_per_turn`]: [] });

function responseUsage(made: Generation): JsonObject {
  return {
    input_tokens: made.promptTokens,
    input_tokens_details: { cached_tokens: 0, ...perTurn("input"), ...perTurn("cached") },
    output_tokens: made.completionTokens,
    output_tokens_details: {
      reasoning_tokens: countTokens(made.reasoning ?? ""),
      tool_output_tokens: 0,
      ...perTurn("output"),
      ...perTurn("tool_output"),
    },
    total_tokens: made.promptTokens + made.completionTokens,
  };
}

function streamed(made: Generation, started: JsonObject, finished: JsonObject) {
  const events: StreamEvent[] = [];
  const say = (type: string, more: JsonObject) =>
    events.push({ event: type, data: { type, sequence_number: events.length, ...more } });
  say("response.created", { response: started });
  say("response.in_progress", { response: started });
  const [thoughts] = reasoningItem(made);
  if (thoughts !== undefined) sayThoughts(say, made.reasoning ?? "", thoughts);
  const item = outputItem(made);
  const at = { item_id: item.id, output_index: thoughts === undefined ? 0 : 1 };
  if (made.toolCall === undefined) sayText(say, made.text, item, at);
  else sayCall(say, made.toolCall, item, at);
  say("response.completed", { response: finished });
  return events;
}

type Say = (type: string, more: JsonObject) => void;
type At = { readonly item_id: unknown; readonly output_index: number };

function sayThoughts(say: Say, text: string, item: JsonObject): void {
  const at = { item_id: item.id, output_index: 0, content_index: 0 };
  const part = (text: string) => ({ ...at, part: { type: "reasoning_text", text } });
  say("response.output_item.added", {
    output_index: 0,
    item: { ...item, content: null, status: "in_progress" },
  });
  say("response.reasoning_part.added", part(""));
  for (const delta of pieces(text)) say("response.reasoning_text.delta", { ...at, delta });
  say("response.reasoning_text.done", { ...at, text });
  say("response.reasoning_part.done", part(text));
  say("response.output_item.done", { output_index: 0, item: { ...item, status: "completed" } });
}

function sayText(say: Say, text: string, item: JsonObject, at: At): void {
  const { output_index } = at;
  const inside = { ...at, content_index: 0 };
  const part = { type: "output_text", annotations: [] };
  say("response.output_item.added", {
    output_index,
    item: { ...item, content: [], status: "in_progress" },
  });
  say("response.content_part.added", { ...inside, part: { ...part, text: "", logprobs: [] } });
  for (const delta of pieces(text))
    say("response.output_text.delta", { ...inside, delta, logprobs: [] });
  say("response.output_text.done", { ...inside, text, logprobs: [] });
  say("response.content_part.done", { ...inside, part: { ...part, text, logprobs: null } });
  say("response.output_item.done", { output_index, item: { ...item, summary: [] } });
}

function sayCall(
  say: Say,
  call: NonNullable<Generation["toolCall"]>,
  item: JsonObject,
  at: At,
): void {
  const { output_index } = at;
  say("response.output_item.added", {
    output_index,
    item: { ...item, arguments: "", status: "in_progress" },
  });
  for (const delta of letters(call.arguments)) {
    say("response.function_call_arguments.delta", { ...at, delta });
  }
  say("response.function_call_arguments.done", { ...at, ...call });
  say("response.output_item.done", { output_index, item });
}
