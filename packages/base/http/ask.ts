import {
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from "node:http";
import { request as requestHttps } from "node:https";

/**
 * Largest answer that is read, in bytes. A long generation is a few hundred kB, vLLM's metrics
 * about as much.
 */
export const LARGEST_ANSWER_BYTES = 8 * 1024 ** 2;

export type HttpAnswer = {
  readonly status: number;
  readonly text: string;
  /** Left out where nobody asks for them. */
  readonly headers?: IncomingHttpHeaders;
};

export interface Asking {
  /** Sent as JSON by POST; without a body it is a GET. */
  readonly body?: unknown;
  /** Asks for the headers alone. */
  readonly method?: "HEAD";
  readonly headers?: Readonly<Record<string, string>>;
  /** Seconds for everything: connecting, waiting, reading. */
  readonly timeoutSeconds?: number;
  /** Ends an answer that has no end of its own, once this holds of what came so far. */
  readonly enough?: (text: string) => boolean;
}

/**
 * Seconds for a question that needs no model. A local server answers it at once, also while a model
 * loads; the hub and registries take a few seconds.
 */
export const ANSWER_SECONDS = 10;

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
 * Asks a server once and reads its whole answer. Bounded in time and size, whatever the server
 * does. Throws `NoAnswer` and nothing else. Follows no redirect, which could carry a key elsewhere,
 * and uses no proxy: a local server is asked directly.
 */
export async function ask(
  url: string,
  { body: value, method, headers, timeoutSeconds = ANSWER_SECONDS, enough }: Asking = {},
): Promise<WholeAnswer> {
  const body = value === undefined ? undefined : JSON.stringify(value);
  const send = url.startsWith("https:") ? requestHttps : requestHttp;
  const options = {
    method: method ?? (body === undefined ? "GET" : "POST"),
    agent: false, // A connection that the server has closed meanwhile would look like a fault of this request.
    headers: {
      accept: "application/json, text/event-stream, text/plain",
      ...(body === undefined
        ? {}
        : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
      ...headers,
    },
  };
  let request: ClientRequest;
  try {
    request = send(url, options);
  } catch {
    throw new NoAnswer("protocol", "no HTTP request can be made with this address or key");
  }
  return wholeAnswer(request, body, { timeoutSeconds, enough });
}

type Enough = Asking["enough"];

export type WholeAnswer = HttpAnswer & { readonly headers: IncomingHttpHeaders };

/** Sends a request and reads its answer to the end, or until it is enough. */
function wholeAnswer(
  request: ClientRequest,
  body: string | undefined,
  { timeoutSeconds, enough }: { readonly timeoutSeconds: number; readonly enough: Enough },
): Promise<WholeAnswer> {
  let timer: NodeJS.Timeout | undefined;
  const answer = new Promise<WholeAnswer>((resolve, reject) => {
    const fail = (reason: NoAnswerReason, message: string) => {
      reject(new NoAnswer(reason, message));
      request.destroy();
    };
    const failed = (error: NodeJS.ErrnoException) => fail(...failureOf(error));
    timer = setTimeout(
      () => fail("timeout", `no whole answer within ${timeoutSeconds} s`),
      timeoutSeconds * 1000,
    );
    request.on("error", failed);
    request.on("upgrade", (_, socket) => {
      socket.destroy();
      fail("protocol", "no valid HTTP answer (it wants to switch to another protocol)");
    });
    request.on("response", (response) => {
      collect(response, enough, { resolve, fail, stop: () => request.destroy() });
      response.on("error", failed);
    });
    request.end(body);
  });
  return answer.finally(() => clearTimeout(timer));
}

interface Ends {
  resolve(answer: WholeAnswer): void;
  fail(reason: NoAnswerReason, message: string): void;
  /** Ends the request, of which no more is wanted. */
  stop(): void;
}

/** Collects an answer to its end, or until it is enough. */
function collect(response: IncomingMessage, enough: Enough, { resolve, fail, stop }: Ends): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const text = () => Buffer.concat(chunks).toString("utf8");
  const answered = () =>
    resolve({ status: response.statusCode ?? 0, headers: response.headers, text: text() });
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= LARGEST_ANSWER_BYTES) chunks.push(chunk);
    else
      fail(
        "too-large",
        `an answer of more than ${LARGEST_ANSWER_BYTES / 1024 ** 2} MiB, which was cut off`,
      );
    if (enough?.(text()) !== true) return;
    answered();
    stop();
  });
  response.on("close", () => {
    if (!response.complete) fail("closed", "the connection was closed in the middle of the answer");
  });
  response.on("end", () => {
    if (response.complete) answered();
  });
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
