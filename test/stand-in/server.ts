import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { parseServerArguments } from "./arguments";
import { RefusedRequest, refusal, unreadBody } from "./errors";
import {
  isObject,
  type JsonObject,
  type Reply,
  type RouteTable,
  type ServerState,
  type StreamEvent,
} from "./exchange";
import { answersBadly, type FaultName, faultyArguments, faultyRoutes } from "./faults";
import { listening } from "./listening";
import { LOG } from "./log";
import { chat } from "./routes/chat";
import { completions } from "./routes/completions";
import { messages } from "./routes/messages";
import { metrics } from "./routes/metrics";
import { models } from "./routes/models";
import { pooling } from "./routes/pooling";
import { responses } from "./routes/responses";

/** Every route of a healthy server. */
export const HEALTHY: RouteTable = {
  ...models,
  ...completions,
  ...chat,
  ...responses,
  ...messages,
  ...metrics,
};

/** Requests of full length that fit where a test says nothing of it. */
export const KV_CONCURRENCY = 7.48;

/** Every route of a healthy server with `--runner pooling`. */
const POOLING: RouteTable = { ...models, ...pooling, ...metrics };

export interface StandInOptions {
  /** What `GET /version` says. */
  readonly version?: string;
  /** Requests of full length that fit into the KV cache, as `GET /metrics` says it. */
  readonly kvConcurrency?: number;
  /** Routes that take the place of healthy ones: the form in which this server fails. */
  readonly routes?: RouteTable;
  /** Other forms of a stream that the standard allows; by default as vLLM writes it. */
  readonly framing?: Framing;
  /** One of the known ways to fail, with the bytes of the real programs. */
  readonly fault?: FaultName;
  /** How fast its model is; by default an answer is there at once. */
  readonly tokensPerSecond?: number;
  /** A request of so many bytes ends the whole server, as a prompt does that is too long for it. */
  readonly diesAt?: { readonly bytes: number; readonly dies: () => void };
  /** Gets a line for each request; by default none is written. */
  readonly log?: (line: string) => void;
}

/**
 * `crlf`: line ends of Windows. `bare`: no blank after the colon and no blank line at the end.
 * `comments`: a keep-alive comment before each event, and an event's data over several lines.
 * `bytes`: one byte at a time.
 */
export type Framing = "crlf" | "bare" | "comments" | "bytes";

export interface StandIn {
  /** Root of the server without a slash at its end, `http://127.0.0.1:8001`. */
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Starts a server that answers vLLM's routes, from the arguments that vLLM would get.
 * `--port 0` takes any free port. Throws `RefusedArguments` for a command line that vLLM refuses.
 */
export async function startStandIn(
  argv: readonly string[],
  options: StandInOptions = {},
): Promise<StandIn> {
  const state: ServerState = {
    args: parseServerArguments(faultyArguments(options.fault, argv)),
    version: options.version ?? "0.30.0",
    kvConcurrency: options.kvConcurrency ?? KV_CONCURRENCY,
    counts: {
      requests: 0,
      running: 0,
      promptTokens: 0,
      generationTokens: 0,
      prefixQueries: 0,
      prefixHits: 0,
      paths: new Map(),
    },
    seenPrompts: [],
    waiting: [],
    fault: options.fault,
  };
  const healthy = state.args.flags.get("--runner")?.at(-1) === "pooling" ? POOLING : HEALTHY;
  const routes = { ...healthy, ...faultyRoutes(options.fault, HEALTHY), ...options.routes };
  const server = createServer((request, response) => {
    if (answersBadly(options.fault, request, response)) return;
    const { counts } = state;
    const before = counts.generationTokens;
    void serve(request, routes, state, options.diesAt).then(async (reply) => {
      if (options.tokensPerSecond !== undefined)
        await sleep((1000 * (counts.generationTokens - before)) / options.tokensPerSecond);
      const { remoteAddress, remotePort } = request.socket;
      const status = `${reply.status} ${STATUS_CODES[reply.status] ?? ""}`;
      const client = `${remoteAddress}:${remotePort}`;
      options.log?.(LOG.request(client, request.method ?? "", request.url ?? "", status));
      send(response, reply, options.framing);
    });
  });
  return listening(server, state.args.port, state.args.host);
}

async function serve(
  request: IncomingMessage,
  routes: RouteTable,
  server: ServerState,
  diesAt: StandInOptions["diesAt"],
): Promise<Reply> {
  const path = new URL(request.url ?? "/", "http://stand-in").pathname;
  const route = routes[`${request.method} ${path}`];
  server.counts.paths.set(path, (server.counts.paths.get(path) ?? 0) + 1);
  try {
    if (path === RELEASE) {
      for (const release of server.waiting.splice(0)) release();
      return { status: 200, text: "" };
    }
    if (route === undefined) {
      const known = Object.keys(routes).some((key) => key.endsWith(` ${path}`));
      return known
        ? { status: 405, json: { detail: "Method Not Allowed" } }
        : { status: 404, json: { detail: "Not Found" } };
    }
    const body = await readBody(request);
    if (JSON.stringify(body).length >= (diesAt?.bytes ?? Infinity)) diesAt?.dies();
    if (body.stand_in_held !== undefined) await held(server);
    return route({ body, server, authorization: request.headers.authorization });
  } catch (error) {
    const known = error instanceof RefusedRequest;
    return refusal(
      path,
      known ? error : new RefusedRequest(500, "InternalServerError", String(error)),
    );
  }
}

/** Path that lets go what is held. */
const RELEASE = "/stand-in/release";

/** A request that runs until somebody lets it go: by a field of ours, which vLLM would ignore. */
async function held({ counts, waiting }: ServerState): Promise<void> {
  counts.running += 1;
  await new Promise<void>((resolve) => waiting.push(resolve));
  counts.running -= 1;
}

async function readBody(request: IncomingMessage): Promise<JsonObject> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  if (text === "") return {};
  try {
    const body: unknown = JSON.parse(text);
    if (isObject(body)) return body;
  } catch {
    // Said below: the same answer for text that is no JSON and JSON that is no object.
  }
  const fault = `{'type': 'json_invalid', 'loc': 'body.${text.length}', 'msg': 'JSON decode error', 'input': '<dict of 0 items>', 'ctx': {'error': 'Expecting value'}}`;
  throw unreadBody(`body.${text.length}`, fault);
}

function send(response: ServerResponse, reply: Reply, framing?: Framing): void {
  if ("stream" in reply) {
    response.writeHead(reply.status, { "content-type": "text/event-stream; charset=utf-8" });
    const events = reply.stream.map((event) => framed(event, framing));
    if (framing === "bytes")
      for (const byte of Buffer.from(events.join(""))) response.write(Buffer.of(byte));
    else if (framing === "bare") response.write(events.join("").trimEnd());
    else for (const event of events) response.write(event);
    response.end();
  } else if ("json" in reply) {
    response
      .writeHead(reply.status, { "content-type": "application/json" })
      .end(`${JSON.stringify(reply.json)}`);
  } else {
    response
      .writeHead(reply.status, reply.headers ?? { "content-type": "text/plain; charset=utf-8" })
      .end(reply.text);
  }
}

function framed({ event, data }: StreamEvent, framing: Framing | undefined): string {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  const blank = framing === "bare" ? "" : " ";
  // A newline between two parts of JSON changes nothing in it.
  const lines =
    framing === "comments" && text !== "[DONE]" ? [text.slice(0, 1), text.slice(1)] : [text];
  return [
    ...(framing === "comments" ? [": keep-alive", ""] : []),
    ...(event === undefined ? [] : [`event:${blank}${event}`]),
    ...lines.map((line) => `data:${blank}${line}`),
    "",
    "",
  ].join(framing === "crlf" ? "\r\n" : "\n");
}
