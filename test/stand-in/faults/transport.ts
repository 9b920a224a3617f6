import type { IncomingMessage, ServerResponse } from "node:http";

type BadAnswering = (request: IncomingMessage, response: ServerResponse) => void;

/** A page as a proxy or another program's server sends it. */
const PAGE = "<!DOCTYPE html><html><head><title>Welcome</title></head><body>It works!</body></html>";

const CHUNK = Buffer.alloc(64 * 1024, "a");

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
    const more = () => {
      while (!response.destroyed && response.write(CHUNK));
    };
    response.on("drain", more);
    more();
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
      .end('{"error":{"message":"backend \\u001b[2J unavailable","type":"server_error","code":502}}');
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
