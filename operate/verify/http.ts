import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

/** Largest answer that is read, in bytes. A long generation is a few hundred kB, vLLM's metrics about as much. */
const LARGEST_ANSWER_BYTES = 8 * 1024 ** 2;

/** What a server answered, whole. */
export interface Answer {
  readonly status: number;
  /** Content type without its parameters, in lower case. */
  readonly type: string;
  readonly text: string;
  /** Time until the whole answer was there. */
  readonly seconds: number;
}

export interface Asking {
  readonly method?: "GET" | "POST";
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Seconds for everything: connecting, waiting, reading. */
  readonly timeoutSeconds: number;
}

/** How a request can end without an answer. */
export type NoAnswerReason = "refused" | "timeout" | "closed" | "too-large" | "protocol";

/** A request that got no whole answer. Its message is a sentence for a person. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  constructor(
    readonly reason: NoAnswerReason,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Asks a server once and reads its whole answer. Bounded in time and size whatever the server does; throws `NoAnswer`
 * and nothing else. Redirects are not followed and proxies not used: a local server is asked directly.
 */
export function ask(url: string, asking: Asking): Promise<Answer> {
  const started = performance.now();
  const body = asking.body === undefined ? undefined : JSON.stringify(asking.body);
  const { promise, resolve, reject } = once<Answer>();
  const send = url.startsWith("https:") ? requestHttps : requestHttp;
  const request = send(url, {
    method: asking.method ?? (body === undefined ? "GET" : "POST"),
    agent: false, // A connection that a server has closed meanwhile would look like a fault of this request.
    headers: {
      accept: "application/json, text/event-stream, text/plain",
      ...(body === undefined
        ? {}
        : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
      ...asking.headers,
    },
  });
  const fail = (reason: NoAnswerReason, message: string) => {
    reject(new NoAnswer(reason, message));
    request.destroy();
  };
  const timer = setTimeout(
    () => fail("timeout", `no whole answer within ${asking.timeoutSeconds} s`),
    asking.timeoutSeconds * 1000,
  );
  request.on("error", (error: NodeJS.ErrnoException) => fail(...failureOf(error)));
  request.on("upgrade", (_, socket) => {
    socket.destroy();
    fail("protocol", "no valid HTTP answer (it wants to switch to another protocol)");
  });
  request.on("response", (response) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > LARGEST_ANSWER_BYTES) {
        fail(
          "too-large",
          `an answer of more than ${LARGEST_ANSWER_BYTES / 1024 ** 2} MiB, which was cut off`,
        );
      } else chunks.push(chunk);
    });
    response.on("error", (error: NodeJS.ErrnoException) => fail(...failureOf(error)));
    response.on("close", () => {
      if (!response.complete) fail("closed", "the connection was closed in the middle of the answer");
    });
    response.on("end", () => {
      if (response.complete) resolve(whole(response, Buffer.concat(chunks), performance.now() - started));
    });
  });
  request.end(body);
  return promise.finally(() => clearTimeout(timer));
}

function whole(response: IncomingMessage, body: Buffer, milliseconds: number): Answer {
  return {
    status: response.statusCode ?? 0,
    type: (response.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "",
    text: body.toString("utf8"),
    seconds: milliseconds / 1000,
  };
}

function failureOf(error: NodeJS.ErrnoException): [NoAnswerReason, string] {
  switch (error.code) {
    case "ECONNREFUSED":
      return ["refused", "nothing listens there (connection refused)"];
    case "EHOSTUNREACH":
    case "ENETUNREACH":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return ["refused", `the address can't be reached (${error.code})`];
    case "ECONNRESET":
    case "EPIPE":
      return ["closed", "the connection was closed before the answer was whole"];
    default:
      return ["protocol", `no valid HTTP answer (${error.code ?? error.message})`];
  }
}

function once<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
