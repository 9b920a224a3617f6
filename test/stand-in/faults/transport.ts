import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";

type BadAnswering = (request: IncomingMessage, response: ServerResponse) => void;

/** A page as a proxy or another program's server sends it. */
const PAGE =
  "<!DOCTYPE html><html><head><title>Welcome</title></head><body>It works!</body></html>";

const CHUNK = Buffer.alloc(64 * 1024, "a");

const EVENTS = 'data: {"choices":[{"index":0,"delta":{"content":"on and "}}]}\n\n'.repeat(500);

/** 64 MiB in 64 KiB. */
const BOMB = gzipSync(Buffer.alloc(64 * 1024 * 1024, " "));

/** Writes for as long as somebody reads. */
function forEver(response: ServerResponse, chunk: Buffer | string): void {
  const more = () => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on("drain", more);
  more();
}

/** Writes below HTTP, again and again. */
function rawForEver({ socket }: IncomingMessage, text: string): void {
  const timer = setInterval(() => socket.write(text), 20);
  socket.on("error", () => {});
  socket.on("close", () => clearInterval(timer));
}

/** Answers that are none, whatever is asked. */
export const transportFaults = {
  /** Takes the request and never says a word. */
  hanging: () => {},
  /** Sends its headers and then one byte a second, for ever. */
  dripping: (_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const timer = setInterval(() => response.write(" "), 100);
    response.on("close", () => clearInterval(timer));
  },
  /** Never comes to an end. */
  huge: (_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    forEver(response, CHUNK);
  },
  /** A stream of good events without an end. */
  "endless-stream": (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    forEver(response, EVENTS);
  },
  "headers-only": (_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
  },
  redirecting: (request, response) => {
    response.writeHead(307, { location: request.url ?? "/" }).end();
  },
  "switching-protocols": ({ socket }) => {
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    );
  },
  "only-hints": (request) => rawForEver(request, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
  "endless-headers": (request) => {
    request.socket.write("HTTP/1.1 200 OK\r\n");
    rawForEver(request, `X-Filler: ${"a".repeat(8000)}\r\n`);
  },
  /** Packed although nobody asked for it, and a thousand times as large unpacked. */
  "packed-bomb": (_, response) => {
    response
      .writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
      .end(BOMB);
  },
  "no-utf-8": (_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0xc3, 0x28, 0x7d]));
  },
  /**
   * Texts over which a careless pattern takes hours: digits, letters and brackets by the megabyte.
   */
  "pattern-traps": (request, response) => {
    const long = (piece: string) => piece.repeat(2_000_000 / piece.length);
    if (request.url === "/metrics") {
      response.writeHead(200).end(`vllm:num_requests_running{${long("a")}} 1\n`);
      return;
    }
    const body =
      request.method === "GET"
        ? { version: `1${long(".1")}x`, data: [{ id: "model", max_model_len: 131_072 }] }
        : { error: { message: `${long("1")}${long("<tool_call")}${long("<")}` } };
    response.writeHead(request.method === "GET" ? 200 : 400, {
      "content-type": "application/json",
    });
    response.end(JSON.stringify(body));
  },
  "non-json": (_, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end(PAGE);
  },
  /** Announces more than it sends, and closes. */
  "half-closed": (_, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "5000" });
    response.write('{"id":"chatcmpl-1","choices":[');
    setTimeout(() => response.socket?.destroy(), 5);
  },
  /** Closes without a word. */
  "closed-at-once": (request) => {
    request.socket.destroy();
  },
  "no-http": (request) => {
    request.socket.end("SSH-2.0-OpenSSH_9.6\r\n");
  },
  /** 200 to everything, with an error in its body. */
  "lying-everywhere": (_, response) => {
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(
        '{"error":{"message":"backend \\u001b[2J unavailable","type":"server_error","code":502}}',
      );
  },
  /** JSON of the right kind with nothing in it. */
  "empty-objects": (_, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  },
  /** JSON whose parts have the wrong types. */
  "wrong-types": (_, response) => {
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(
        '{"data":[{"id":7,"max_model_len":"many"},null],"choices":[{"message":null,"text":{}}],"content":[null,{"type":3}],"output":{"a":1},"version":[],"models":[1],"input_tokens":"x"}',
      );
  },
} satisfies Record<string, BadAnswering>;
