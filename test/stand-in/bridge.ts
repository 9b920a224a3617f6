import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { isObject, type JsonObject, objects } from "./exchange";
import { xmlCall } from "./faults/callAsText";
import { listening } from "./listening";
import type { StandIn } from "./server";

export type BridgeFault =
  | "validation-errors-212"
  | "responses-detour"
  | "responses-detour-1.109"
  | "responses-detour-unmarked"
  | "drops-system"
  | "moves-system-first"
  | "tools-as-text"
  | "any-model"
  | "only-canonical-name"
  | "no-liveliness"
  | "without-text"
  | "echoes-key";

export interface BridgeOptions {
  readonly upstream: string;
  readonly key: string;
  /** Names that it lists, the canonical one first; it also answers to every `claude-` name. */
  readonly names: readonly string[];
  readonly fault?: BridgeFault | undefined;
  /** Where it listens: by default a free port of loopback. */
  readonly port?: number;
  readonly host?: string;
}

/**
 * What a generic provider prefix makes of a second turn, the server's own words shortened (LiteLLM
 * 1.103.0).
 */
const VALIDATION_ERRORS =
  "litellm.BadRequestError: OpenAIException - {\"error\":{\"message\":\"212 validation errors:\\n  {'type': 'string_type', 'loc': ('body', 'input', 'str'), 'msg': 'Input should be a valid string', 'input': [{'role': 'user', 'content': [{'type': 'input_text', 'text': 'What is in /etc/hostname?'}]}]}\",\"type\":\"Bad Request\",\"param\":null,\"code\":400}}. Received Model Group=model\nAvailable Model Group Fallbacks=None";

/** Beginnings of a message's id: it is what the server behind the bridge gave. */
const IDS = { chat: "chatcmpl-stand-in", responses: "resp_bGl0ZWxsbTpjdXN0b20=" };

/**
 * A LiteLLM 1.103.0 as far as probes see one: its key, its names, its words; answers are the
 * server's behind it.
 */
export async function startBridge(options: BridgeOptions): Promise<StandIn> {
  const server = createServer((request, response) => void serve(request, response, options));
  return listening(server, options.port, options.host);
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  options: BridgeOptions,
): Promise<void> {
  const { fault, names } = options;
  const send = (status: number, body: unknown) =>
    void response
      .writeHead(status, { "content-type": "application/json" })
      .end(JSON.stringify(body));
  if (request.url === "/health/liveliness") {
    if (fault === "no-liveliness")
      response.writeHead(200, { "content-type": "text/html" }).end("<html></html>");
    else send(200, "I'm alive!");
    return;
  }
  let text = "";
  for await (const chunk of request) text += String(chunk);
  const body = JSON.parse(text || "{}") as JsonObject;
  const refused = refusedKey(request, options);
  if (refused !== undefined) return send(refused.status, { error: refused.error });
  if (request.url === "/v1/models") return send(200, { data: listed(names, fault).map(entry) });
  if (request.url === "/v1/messages/count_tokens") {
    if (fault === "responses-detour-1.109") return send(404, { error: { message: "Not Found" } });
    return send(200, { input_tokens: 8 });
  }
  const unknown = unknownModel(String(body.model), options);
  if (unknown !== undefined) return send(400, badRequest(unknown));
  await answer(body, response, options, send);
}

async function answer(
  body: JsonObject,
  response: ServerResponse,
  { fault, names, upstream }: BridgeOptions,
  send: (status: number, body: unknown) => void,
): Promise<void> {
  const turns = objects(body.messages);
  if (fault === "validation-errors-212" && turns.length > 2)
    return send(400, badRequest(VALIDATION_ERRORS));
  const detour = fault?.startsWith("responses-detour") ?? false;
  if (detour) await forward(upstream, "/v1/responses", { model: names[0], input: "hi" });
  const systemTexts = turns.flatMap(({ role, content }) => (role === "system" ? content : []));
  const reply = await forward(upstream, "/v1/messages", {
    ...body,
    ...(fault === "moves-system-first"
      ? { system: [...systemTexts, ...[body.system].flat()] }
      : {}),
    model: names[0],
    messages: fault === "drops-system" ? turns.filter((turn) => turn.role !== "system") : turns,
    ...(fault === "tools-as-text" ? { tools: [] } : {}),
  });
  if (fault === "without-text" && body.tools === undefined && turns.length === 1) {
    return send(200, { type: "message", role: "assistant", content: [], stop_reason: "end_turn" });
  }
  if (fault === "tools-as-text" && body.stream !== true && objects(body.tools).length > 0) {
    const said = xmlCall("read_file", { path: "/etc/hostname" });
    return send(200, {
      type: "message",
      content: [{ type: "text", text: said }],
      stop_reason: "end_turn",
    });
  }
  if (reply.status === 200 && body.stream !== true) {
    const message = (await reply.json()) as JsonObject;
    return send(200, { ...message, id: fault === "responses-detour" ? IDS.responses : IDS.chat });
  }
  response
    .writeHead(reply.status, { "content-type": reply.headers.get("content-type") ?? "" })
    .end(await reply.text());
}

/**
 * How it refuses a request for its key. Without a database it knows one key alone, and says no more
 * than this.
 */
function refusedKey(request: IncomingMessage, { fault, key }: BridgeOptions) {
  const given = request.headers.authorization?.slice("Bearer ".length);
  if (fault === "echoes-key")
    return { status: 400, error: { message: `Key ${given} is not allowed.` } };
  if (given === undefined)
    return {
      status: 500,
      error: { message: "Internal server error", type: "internal_server_error" },
    };
  if (given === key) return undefined;
  return {
    status: 400,
    error: { message: "No connected db.", type: "no_db_connection", param: null, code: "400" },
  };
}

const listed = (names: readonly string[], fault: BridgeFault | undefined) =>
  fault === "only-canonical-name" ? names.slice(0, 1) : names;

const entry = (id: string) => ({
  ...{ type: "model", id, display_name: id, created_at: "2023-02-28T18:56:42Z" },
  ...{ max_input_tokens: 131_072, max_tokens: 131_072 },
});

/**
 * What it says of a model that it has not; `undefined` for one that it has. With a pattern in its
 * list it says more.
 */
function unknownModel(model: string, { fault, names }: BridgeOptions): string | undefined {
  if (fault === "only-canonical-name") {
    return model === names[0]
      ? undefined
      : `anthropic_messages: Invalid model name passed in model=${model}. Call \`/v1/models\` to view available models for your key.`;
  }
  if (fault === "any-model" || names.includes(model) || model.startsWith("claude-"))
    return undefined;
  return `litellm.BadRequestError: You passed in model=${model}. There are no healthy deployments for this model. Received Model Group=${model}\nAvailable Model Group Fallbacks=None`;
}

const badRequest = (message: string) => ({
  type: "error",
  error: { type: "invalid_request_error", message },
});

function forward(upstream: string, path: string, body: unknown): Promise<Response> {
  return fetch(`${upstream}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(isObject(body) ? body : {}),
  });
}
