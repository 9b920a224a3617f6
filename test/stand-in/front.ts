import {
  request as ask,
  createServer,
  type IncomingHttpHeaders,
  type ServerResponse,
} from "node:http";
import { listening } from "./listening";

/** A request, and what the server behind answered to it. */
export interface Passing {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Answers in the place of the server behind; `undefined` lets its answer through. */
export type Meddles = (passing: Passing, response: ServerResponse) => unknown;

/**
 * A program between a client and a server: it asks that, with a body that it may rewrite, and does
 * with the answer what it likes.
 */
export function startFront(
  port: number,
  meddles: Meddles,
  rewrites: (body: string) => string = (body) => body,
) {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "GET", url: path = "/", headers } = request;
      const body = Buffer.concat(chunks).toString();
      const sent = body === "" ? "" : rewrites(body);
      const length = sent === body ? {} : { "content-length": Buffer.byteLength(sent) };
      const asked = { ...headers, ...length };
      const behind = ask({ port, path, method, headers: asked, agent: false }, (answer) => {
        const parts: Buffer[] = [];
        answer.on("data", (part: Buffer) => parts.push(part));
        answer.on("end", () => {
          const { statusCode: status = 0, headers: given } = answer;
          const text = Buffer.concat(parts).toString();
          const passing = { method, path, body, status, headers: given, text };
          if (meddles(passing, response) !== undefined) return;
          const { "transfer-encoding": _, "content-length": __, ...kept } = given;
          response.writeHead(status, kept).end(text);
        });
      });
      behind.end(sent);
    });
  });
  return listening(server);
}
