import type { JsonObject } from "./exchange";

/**
 * A request whose answer by the real vLLM is recorded, and whose answer by the stand-in must be of
 * the same form.
 */
export interface RecordedRequest {
  readonly name: string;
  /** Method and path. */
  readonly route: string;
  readonly body?: JsonObject | string;
}

/** The name under which both serve the model. */
export const SERVED = "example-model";

/** Tokens of the window that both are started with. */
export const WINDOW = 2048;

const READ_FILE = {
  name: "read_file",
  description: "Reads a file.",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};
const CHAT_TOOL = { type: "function", function: READ_FILE };
const MESSAGES_TOOL = {
  name: READ_FILE.name,
  description: READ_FILE.description,
  input_schema: READ_FILE.parameters,
};
const GREET = { role: "user", content: "Say hello." };
const READ = { role: "user", content: "Use read_file on /etc/hostname now." };
/** Longer than the window. */
const LONG = { role: "user", content: "word ".repeat(4000) };
const CALL = {
  id: "call_1",
  type: "function",
  function: { name: "read_file", arguments: '{"path":"/etc/hostname"}' },
};

const chat = (name: string, body: JsonObject): RecordedRequest => ({
  name: `chat: ${name}`,
  route: "POST /v1/chat/completions",
  body: { model: SERVED, max_tokens: 200, messages: [GREET], ...body },
});
const messages = (name: string, body: JsonObject): RecordedRequest => ({
  name: `messages: ${name}`,
  route: "POST /v1/messages",
  body: { model: SERVED, max_tokens: 200, messages: [GREET], ...body },
});
const responses = (name: string, body: JsonObject): RecordedRequest => ({
  name: `responses: ${name}`,
  route: "POST /v1/responses",
  body: { model: SERVED, max_output_tokens: 200, input: "Say hello.", ...body },
});
const noThoughts = { chat_template_kwargs: { enable_thinking: false } };

export const REQUESTS: readonly RecordedRequest[] = [
  { name: "models", route: "GET /v1/models" },
  { name: "version", route: "GET /version" },
  { name: "health", route: "GET /health" },
  { name: "no such route", route: "GET /v1/nothing" },
  { name: "another method", route: "GET /v1/chat/completions" },
  {
    name: "completions",
    route: "POST /v1/completions",
    body: { model: SERVED, prompt: "Hello", max_tokens: 8 },
  },
  chat("text", noThoughts),
  chat("thoughts", {}),
  chat("text streamed", { ...noThoughts, stream: true }),
  chat("thoughts streamed, with usage", { stream: true, stream_options: { include_usage: true } }),
  chat("a call", { ...noThoughts, messages: [READ], tools: [CHAT_TOOL] }),
  chat("a call streamed", { ...noThoughts, messages: [READ], tools: [CHAT_TOOL], stream: true }),
  chat("tools not used", { ...noThoughts, tools: [CHAT_TOOL], tool_choice: "none" }),
  chat("text after a tool's result", {
    ...noThoughts,
    tools: [CHAT_TOOL],
    messages: [
      READ,
      { role: "assistant", content: null, tool_calls: [CALL] },
      { role: "tool", tool_call_id: "call_1", content: "spark" },
    ],
  }),
  chat("JSON", {
    ...noThoughts,
    response_format: { type: "json_object" },
    messages: [{ role: "user", content: 'SAY<<{"ok": true}>>' }],
  }),
  chat("no messages", { messages: undefined }),
  chat("a role nobody knows", { messages: [{ role: "narrator", content: "Once" }] }),
  chat("no tokens asked for", { max_tokens: 0 }),
  chat("another model", { model: "another-model" }),
  chat("prompt above the window", { messages: [LONG] }),
  chat("output above the window", { max_tokens: 100_000 }),
  { name: "chat: no JSON", route: "POST /v1/chat/completions", body: '{"model": ' },
  messages("text", {}),
  messages("text streamed", { stream: true }),
  messages("a call", { messages: [READ], tools: [MESSAGES_TOOL] }),
  messages("a call streamed", { messages: [READ], tools: [MESSAGES_TOOL], stream: true }),
  messages("text after a tool's result", {
    tools: [MESSAGES_TOOL],
    messages: [
      READ,
      {
        role: "assistant",
        content: [
          { type: "tool_use", id: "call_1", name: "read_file", input: { path: "/etc/hostname" } },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content: "spark" }] },
    ],
  }),
  messages("no limit of tokens", { max_tokens: undefined }),
  messages("no messages", { messages: undefined }),
  messages("another model", { model: "another-model" }),
  messages("prompt above the window", { messages: [LONG] }),
  {
    ...messages("tokens counted", { max_tokens: undefined }),
    route: "POST /v1/messages/count_tokens",
  },
  responses("text", {}),
  responses("text streamed", { stream: true }),
  responses("a call", { input: READ.content, tools: [{ type: "function", ...READ_FILE }] }),
  responses("a call streamed", {
    input: READ.content,
    tools: [{ type: "function", ...READ_FILE }],
    stream: true,
  }),
  responses("text after a tool's result", {
    tools: [{ type: "function", ...READ_FILE }],
    input: [
      READ,
      {
        type: "function_call",
        call_id: "call_1",
        name: "read_file",
        arguments: CALL.function.arguments,
      },
      { type: "function_call_output", call_id: "call_1", output: "spark" },
    ],
  }),
  responses("another model", { model: "another-model" }),
  responses("no input", { input: undefined }),
  responses("prompt above the window", { input: LONG.content }),
];
