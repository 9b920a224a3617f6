import { createServer } from "node:http";
import { isObject, type JsonObject } from "./exchange";
import { listening } from "./listening";
import { isToolRoute, noTools, type ToolReply, toolCall } from "./ollamaTools";

/** What a model of the stand-in can do, as `/api/tags` says it. */
export type Capabilities = readonly ("completion" | "embedding" | "tools")[];

export interface OllamaStandIn {
  readonly port: number;
  /** Each request so far, by its path and the model that it names. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

/**
 * Answers of Ollama 0.34.4 (2026-11-21) to what is asked of it here; `overlay` takes the place of
 * whole answers, or of streams where it names `PATH streamed`.
 */
export async function startOllama(
  models: Readonly<Record<string, Capabilities>>,
  overlay: Readonly<Record<string, ToolReply>> = {},
): Promise<OllamaStandIn> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => {
      text += chunk;
    });
    request.on("end", () => {
      const path = request.url ?? "";
      const sent: unknown = text === "" ? {} : JSON.parse(text);
      const sentBody = isObject(sent) ? sent : {};
      asked.push(`${path} ${String(sentBody.model ?? "")}`.trim());
      const key = sentBody.stream === true ? `${path} streamed` : path;
      const { status, body } = overlay[key] ?? answer(models, path, sentBody);
      const streamed = typeof body === "string";
      const type = streamed ? "text/event-stream" : "application/json";
      response
        .writeHead(status, { "content-type": type })
        .end(streamed ? body : JSON.stringify(body));
    });
  });
  return { ...(await listening(server)), asked };
}

function answer(
  models: Readonly<Record<string, Capabilities>>,
  path: string,
  body: JsonObject,
): ToolReply {
  const ok = (json: JsonObject): ToolReply => ({ status: 200, body: json });
  const asked = String(body.model ?? "");
  const name = asked.includes(":") ? asked : `${asked}:latest`;
  const capabilities = models[name];
  if (isToolRoute(path) && capabilities !== undefined)
    return capabilities.includes("tools") ? toolCall(path, body) : noTools(path, name);
  switch (path) {
    case "/api/version":
      return ok({ version: "0.34.4" });
    case "/api/tags":
      return ok({
        models: Object.entries(models).map(([each, can]) => ({
          name: each,
          model: each,
          capabilities: can,
        })),
      });
    case "/api/show":
      return capabilities === undefined
        ? { status: 404, body: { error: `model '${name}' not found` } }
        : ok({ details: { family: "llama" }, capabilities });
    case "/api/embed":
      if (capabilities === undefined) {
        return { status: 404, body: { error: `model "${asked}" not found, try pulling it first` } };
      }
      return capabilities.includes("embedding")
        ? ok({ model: asked, embeddings: [[0.25, -0.5, 1]] })
        : { status: 501, body: { error: "this model does not support embeddings" } };
    default:
      return { status: 404, body: { error: "404 page not found" } };
  }
}
