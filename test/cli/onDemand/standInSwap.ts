import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export const KEY = "a-key-of-these-tests-0123456789";

const UNAUTHORIZED = {
  error: "unauthorized: invalid or missing API key",
  src: "llama-swap",
};

/** What a stand-in of llama-swap says, in the forms of v250. */
export interface SwapSays {
  /** llama-swap's words for models that it has. */
  states?: Record<string, string>;
  /** Requests in flight: a model, and when it was asked. */
  requests?: readonly (readonly [model: string, since: string])[];
  /** Names in /v1/models. */
  names?: readonly string[];
  /** Ends of the last answers. */
  last?: Record<string, string>;
  /** What asking below /upstream/ answers; 200 where nothing is named. */
  upstream?: { readonly status: number; readonly body: string } | "never";
  /** Called for each request below /upstream/, and each that unloads. */
  onAsked?: (path: string) => void;
  key?: string;
}

/** A stand-in of llama-swap's API, until the test is over. */
export class StandInSwap {
  readonly asked: string[] = [];
  /** Requests whose body never came, and that are still there. */
  held = 0;
  port = 0;

  constructor(readonly says: SwapSays) {}

  static async start(says: SwapSays, port = 0): Promise<StandInSwap> {
    const swap = new StandInSwap(says);
    const server = createServer((request, response) => swap.answer(request, response));
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    swap.port = (server.address() as AddressInfo).port;
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return swap;
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const { key } = this.says;
    const path = decodeURIComponent(request.url ?? "");
    this.asked.push(`${request.method} ${path}`);
    const known = key === undefined || request.headers.authorization === `Bearer ${key}`;
    if (!known) json(response, 401, UNAUTHORIZED);
    else if (path === "/running") json(response, 200, { running: this.running() });
    else if (path === "/api/events") this.events(response);
    else if (path === "/v1/models")
      json(response, 200, { data: (this.says.names ?? []).map((id) => ({ id })) });
    else if (path.startsWith("/api/metrics/activity"))
      json(response, 200, { data: this.lastOf(path) });
    else if (request.method === "POST" && path.startsWith("/upstream/")) this.hold(request);
    else this.other(path, response);
  }

  /** The last answer of a model, as its list of answers has it. */
  private lastOf(path: string) {
    const model = new URL(path, "http://x").searchParams.get("model") ?? "";
    const timestamp = this.says.last?.[model];
    return timestamp === undefined ? [] : [{ timestamp, model }];
  }

  private hold(request: IncomingMessage): void {
    this.held += 1;
    request.on("close", () => {
      this.held -= 1;
    });
  }

  /** What starts a server, asks it, or lets it go. */
  private other(path: string, response: ServerResponse): void {
    this.says.onAsked?.(path);
    const { upstream = { status: 200, body: "OK" } } = this.says;
    if (upstream === "never" && path.startsWith("/upstream/")) return;
    const { status, body } = upstream === "never" ? { status: 200, body: "OK" } : upstream;
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  }

  private running() {
    return Object.entries(this.says.states ?? {}).map(([model, state]) => ({
      model,
      state,
      ttl: 0,
    }));
  }

  /** The first events, and then none: the answer has no end. */
  private events(response: ServerResponse): void {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (type: string, data: unknown) =>
      response.write(
        `event:message\ndata:${JSON.stringify({ type, data: JSON.stringify(data) })}\n\n`,
      );
    send("logData", { source: "proxy", data: "[INFO] llama-swap listening\n" });
    const requests = (this.says.requests ?? []).map(([model, timestamp], index) => ({
      id: `${index + 1}`,
      timestamp,
      model,
      req_path: "/v1/chat/completions",
      req_headers: { Authorization: "[redacted]" },
    }));
    send("inflight", { operation: "snapshot", ...(requests.length === 0 ? {} : { requests }) });
  }
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}
