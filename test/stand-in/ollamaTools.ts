import { isObject, type JsonObject } from "./exchange";

/** An answer: JSON, or the text of a stream. */
export interface ToolReply {
  readonly status: number;
  readonly body: JsonObject | string;
}

/** The routes on which coding clients ask Ollama. */
const TOOL_ROUTES = ["/v1/chat/completions", "/v1/messages", "/v1/responses"] as const;

type ToolRoute = (typeof TOOL_ROUTES)[number];

export const isToolRoute = (path: string): path is ToolRoute =>
  TOOL_ROUTES.some((route) => route === path);

const ARGUMENTS = '{"path":"/etc/hostname"}';
const USAGE = { prompt_tokens: 20, completion_tokens: 12, total_tokens: 32 };

/**
 * What Ollama 0.34.4 answered to a request with tools whose model wrote a call of `read_file`, less
 * fields that nobody reads. It calls whatever is offered first.
 */
export function toolCall(route: ToolRoute, request: JsonObject): ToolReply {
  const body = request.stream === true ? STREAMED[route] : WHOLE[route];
  return { status: 200, body: body(String(request.model), offered(request)) };
}

/** What it answers for a model whose template takes no tools. */
export function noTools(route: ToolRoute, name: string): ToolReply {
  const message = `registry.ollama.ai/library/${name} does not support tools`;
  const error = { message, type: "invalid_request_error" };
  return {
    status: 400,
    body: route === "/v1/messages" ? { type: "error", error } : { error },
  };
}

/** The name of the first tool in a request, in the form of any of the APIs. */
function offered({ tools }: JsonObject): string {
  const [first]: unknown[] = Array.isArray(tools) ? tools : [];
  const tool = isObject(first) ? first : {};
  return String(isObject(tool.function) ? tool.function.name : tool.name);
}

const chatCall = (name: string) => ({
  id: "call_1cehrmpt",
  index: 0,
  type: "function",
  function: { name, arguments: ARGUMENTS },
});

const callItem = (name: string) => ({
  id: "fc_resp_595937_0",
  type: "function_call",
  status: "completed",
  call_id: "call_5ud73u10",
  name,
  arguments: ARGUMENTS,
});

const response = (model: string, name: string) => ({
  id: "resp_595937",
  object: "response",
  status: "completed",
  model,
  output: [callItem(name)],
  usage: { input_tokens: 20, output_tokens: 12, total_tokens: 32 },
});

type Answers<Body> = Record<ToolRoute, (model: string, name: string) => Body>;

const WHOLE: Answers<JsonObject> = {
  "/v1/chat/completions": (model, name) => ({
    id: "chatcmpl-163",
    object: "chat.completion",
    model,
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: "", tool_calls: [chatCall(name)] },
        finish_reason: "tool_calls",
      },
    ],
    usage: USAGE,
  }),
  "/v1/messages": (model, name) => ({
    id: "msg_66df3672cbc264519c39898f",
    type: "message",
    role: "assistant",
    model,
    content: [{ type: "tool_use", id: "call_kz65a5lo", name, input: JSON.parse(ARGUMENTS) }],
    stop_reason: "tool_use",
    usage: { input_tokens: 20, output_tokens: 12 },
  }),
  "/v1/responses": response,
};

const STREAMED: Answers<string> = {
  "/v1/chat/completions": (model, name) => {
    const chunk = (choices: unknown[], more = {}) =>
      `data: ${JSON.stringify({ id: "chatcmpl-317", object: "chat.completion.chunk", model, choices, ...more })}\n\n`;
    const delta = { role: "assistant", content: "", tool_calls: [chatCall(name)] };
    return [
      chunk([{ index: 0, delta, finish_reason: null }]),
      chunk([{ index: 0, delta: {}, finish_reason: "tool_calls" }]),
      chunk([], { usage: USAGE }),
      "data: [DONE]\n\n",
    ].join("");
  },
  "/v1/messages": (model, name) => {
    const message = { id: "msg_2ea19e1a44011dca35b33614", type: "message", role: "assistant" };
    const block = { type: "tool_use", id: "call_yga6krk5", name, input: {} };
    return events([
      ["message_start", { message: { ...message, model, content: [], usage: {} } }],
      ["content_block_start", { index: 0, content_block: block }],
      [
        "content_block_delta",
        { index: 0, delta: { type: "input_json_delta", partial_json: ARGUMENTS } },
      ],
      ["content_block_stop", { index: 0 }],
      ["message_delta", { delta: { stop_reason: "tool_use" }, usage: { output_tokens: 12 } }],
      ["message_stop", {}],
    ]);
  },
  "/v1/responses": (model, name) =>
    events([
      ["response.created", { response: { model, status: "in_progress", output: [] } }],
      ["response.output_item.added", { output_index: 0, item: callItem(name) }],
      ["response.function_call_arguments.done", { arguments: ARGUMENTS }],
      ["response.completed", { response: response(model, name) }],
    ]),
};

const events = (all: readonly (readonly [type: string, data: JsonObject])[]): string =>
  all
    .map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
    .join("");
