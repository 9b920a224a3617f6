import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isObject, type JsonObject, objects } from "./exchange";
import { xmlCall } from "./faults/callAsText";
import type { StandIn } from "./server";

/** Ways in which a bridge fails. */
export type BridgeFault =
  | "validation-errors-212"
  | "responses-detour"
  | "drops-system"
  | "tools-as-text"
  | "any-model"
  | "only-canonical-name"
  | "no-liveliness"
  | "without-text"
  | "echoes-key";

export interface BridgeOptions {
  /** Root of the server behind it. */
  readonly upstream: string;
  readonly key: string;
  /** Names that it answers to, the canonical one first. */
  readonly names: readonly string[];
  readonly fault?: BridgeFault;
}

/** What a generic provider prefix makes of a second turn, shortened; LiteLLM passes the server's text on. */
const VALIDATION_ERRORS =
  "litellm.BadRequestError: OpenAIException - {\"error\":{\"message\":\"212 validation errors:\\n  {'type': 'string_type', 'loc': ('body', 'input', 'str'), 'msg': 'Input should be a valid string', 'input': [{'role': 'user', 'content': [{'type': 'input_text', 'text': 'What is in /etc/hostname?'}]}]}\",\"type\":\"Bad Request\",\"param\":null,\"code\":400}}";

/** A LiteLLM proxy as far as probes see one: its key, its names, its words; answers are the server's behind it. */
export async function startBridge(options: BridgeOptions): Promise<StandIn> {
  const server = createServer((request, response) => void serve(request, response, options));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // An address is a string only for a Unix socket, which is never listened on here.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  options: BridgeOptions,
): Promise<void> {
  const { fault, names, key, upstream } = options;
  const send = (status: number, body: unknown) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  if (request.url === "/health/liveliness") {
    if (fault === "no-liveliness")
      response.writeHead(200, { "content-type": "text/html" }).end("<html></html>");
    else send(200, "I'm alive!");
    return;
  }
  let text = "";
  for await (const chunk of request) text += String(chunk);
  const body = JSON.parse(text || "{}") as JsonObject;
  const given = request.headers.authorization?.slice("Bearer ".length);
  if (fault === "echoes-key") return void send(400, { error: { message: `Key ${given} is not allowed.` } });
  if (given !== key)
    return void send(400, { error: { message: "No connected db.", type: "no_db", code: "400" } });
  const known = names.some((name) => name === body.model) || /^claude-/.test(String(body.model));
  const served = fault === "only-canonical-name" ? body.model === names[0] : known || fault === "any-model";
  if (!served) {
    const message = `anthropic_messages: Invalid model name passed in model=${String(body.model)}. Call \`/v1/models\``;
    return void send(400, { type: "error", error: { type: "invalid_request_error", message } });
  }
  if (request.url === "/v1/messages/count_tokens") {
    if (fault === "responses-detour") return void send(404, { error: { message: "Not Found" } });
    return void send(200, { input_tokens: 11, litellm_count_source: "local_estimate" });
  }
  const turns = objects(body.messages);
  if (fault === "validation-errors-212" && turns.length > 2) {
    return void send(400, {
      type: "error",
      error: { type: "invalid_request_error", message: VALIDATION_ERRORS },
    });
  }
  if (fault === "responses-detour")
    await forward(upstream, "/v1/responses", { model: names[0], input: "hi" });
  const answer = await forward(upstream, "/v1/messages", {
    ...body,
    model: names[0],
    messages: fault === "drops-system" ? turns.filter((turn) => turn.role !== "system") : turns,
    ...(fault === "tools-as-text" ? { tools: [] } : {}),
  });
  if (fault === "without-text" && body.tools === undefined && turns.length === 1) {
    return void send(200, { type: "message", role: "assistant", content: [], stop_reason: "end_turn" });
  }
  if (fault === "tools-as-text" && body.stream !== true && objects(body.tools).length > 0) {
    const said = xmlCall("read_file", { path: "/etc/hostname" });
    return void send(200, {
      type: "message",
      content: [{ type: "text", text: said }],
      stop_reason: "end_turn",
    });
  }
  const reply = await answer.text();
  response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" }).end(reply);
}

function forward(upstream: string, path: string, body: unknown): Promise<Response> {
  return fetch(`${upstream}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(isObject(body) ? body : {}),
  });
}
