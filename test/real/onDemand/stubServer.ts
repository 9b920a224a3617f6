import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

/** What a test tells a stub, in a file that it reads at each start. */
export interface Behaviour {
  /** Milliseconds before it listens. */
  readonly startMs?: number;
  /** Milliseconds that it takes to end once it is asked to; it listens no more. */
  readonly stopMs?: number;
  /** Says this and ends with code 3. */
  readonly fails?: string;
}

/** What a client tells it in its request. */
interface Asked {
  readonly stream?: boolean;
  /** How many tenths of a second the answer takes. */
  readonly tenths?: number;
}

/** `vllm serve MODEL --port PORT`: says which model it is, as slowly as it is asked to. */
async function main(model: string, port: number): Promise<void> {
  const { startMs = 700, stopMs = 0, fails } = behaviour(model);
  if (fails !== undefined) {
    console.log(fails);
    process.exit(3);
  }
  let stopping = false;
  process.on("SIGTERM", () => {
    stopping = true;
    server.close(() => setTimeout(() => process.exit(0), stopMs));
    server.closeIdleConnections();
  });
  const server = createServer(async (request, response) => {
    if (stopping) response.setHeader("connection", "close");
    if (request.url === "/health") return void response.end();
    await answer(model, request, response);
  });
  await sleep(startMs);
  server.listen(port, "127.0.0.1", () => console.log("Application startup complete."));
}

function behaviour(model: string): Behaviour {
  try {
    return JSON.parse(readFileSync(`/opt/behaviour/${model}.json`, "utf8")) as Behaviour;
  } catch {
    return {};
  }
}

async function answer(model: string, request: IncomingMessage, response: ServerResponse) {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  const { stream = false, tenths = 0 } = JSON.parse(body || "{}") as Asked;
  if (!stream) {
    await sleep(tenths * 100);
    response.setHeader("content-type", "application/json");
    return response.end(JSON.stringify({ model, path: request.url }));
  }
  response.setHeader("content-type", "text/event-stream");
  for (let token = 0; token < tenths; token += 1) {
    response.write(`data: {"model":"${model}"}\n\n`);
    await sleep(100);
  }
  return response.end(`data: {"model":"${model}"}\n\ndata: [DONE]\n\n`);
}

const [, , , model = "", ...options] = process.argv;
void main(model, Number(options[options.indexOf("--port") + 1]));
