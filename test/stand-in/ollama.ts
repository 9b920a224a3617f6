import { createServer } from "node:http";
import { isObject, type JsonObject } from "./exchange";
import { listening } from "./listening";

/** What a model of the stand-in can do, as `/api/tags` says it. */
export type Capabilities = readonly ("completion" | "embedding")[];

export interface OllamaStandIn {
  readonly port: number;
  close(): Promise<void>;
}

interface Reply {
  readonly status: number;
  readonly body: JsonObject;
}

/**
 * Answers of Ollama 0.34.4 (2026-11-21) to what is asked of it here; `overlay` takes the place of
 * whole answers.
 */
export async function startOllama(
  models: Readonly<Record<string, Capabilities>>,
  overlay: Readonly<Record<string, Reply>> = {},
): Promise<OllamaStandIn> {
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => {
      text += chunk;
    });
    request.on("end", () => {
      const path = request.url ?? "";
      const body: unknown = text === "" ? {} : JSON.parse(text);
      const { status, body: json } =
        overlay[path] ?? answer(models, path, isObject(body) ? body : {});
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(json));
    });
  });
  return listening(server);
}

function answer(
  models: Readonly<Record<string, Capabilities>>,
  path: string,
  body: JsonObject,
): Reply {
  const ok = (json: JsonObject): Reply => ({ status: 200, body: json });
  const asked = String(body.model ?? "");
  const name = asked.includes(":") ? asked : `${asked}:latest`;
  const capabilities = models[name];
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
