import {
  isRecord,
  type JsonObject,
  jsonIn,
  objectOr,
  textOr,
} from "@local-serving/base/faults/json";
import {
  ANSWER_SECONDS,
  type Asking,
  ask,
  type HttpAnswer,
  NoAnswer,
} from "@local-serving/base/http/ask";
import { BadAnswer, quote } from "./answer";

export interface ServerEvent {
  /** Its name, if the server gives one. */
  readonly event: string | undefined;
  /**
   * Its data; `undefined` for the closing `[DONE]` and for anything else that is not a JSON object.
   */
  readonly data: JsonObject | undefined;
  /** Its data as it was sent. */
  readonly raw: string;
}

/**
 * Reads a whole stream of server-sent events by the standard: comments are left out, data lines
 * joined.
 */
const readEvents = (text: string): ServerEvent[] =>
  text.split(/\r\n\r\n|\n\n|\r\r/).flatMap((block) => readEvent(block) ?? []);

function readEvent(block: string): ServerEvent | undefined {
  let event: string | undefined;
  const data: string[] = [];
  for (const line of block.split(/\r\n|\n|\r/)) {
    const [, field, value = ""] = /^([^:]+)(?:: ?(.*))?$/.exec(line) ?? [];
    if (field === "event") event = value;
    if (field === "data") data.push(value);
  }
  if (data.length === 0) return undefined;
  const raw = data.join("\n");
  const value = jsonIn(raw);
  return { event, raw, data: isRecord(value) ? value : undefined };
}

/** Date of the messages API that clients name. */
export const MESSAGES_VERSION = { "anthropic-version": "2023-06-01" };

/** A request of the completions API that takes one step of the model. */
export const oneToken = (model: string) => ({ model, prompt: "1", max_tokens: 1 });

/** Whether 200 is answered in time, to a body where one is given. */
export const answersOk = (url: string, asking?: Asking): Promise<boolean> =>
  ask(url, asking).then(
    ({ status }) => status === 200,
    () => false,
  );

/** Seconds after which a server that made no token is taken to hang. */
export const TOKEN_LIMIT_SECONDS = ANSWER_SECONDS;

/**
 * Whether a server that takes requests answers none, not even with one token. Any answer counts, a
 * refusal too.
 */
export const hangs = (
  url: string,
  model: string,
  timeoutSeconds = TOKEN_LIMIT_SECONDS,
): Promise<boolean> =>
  ask(`${url}/v1/completions`, { body: oneToken(model), timeoutSeconds }).then(
    () => false,
    (error: unknown) => error instanceof NoAnswer && error.reason === "timeout",
  );

/** The HTTP API of one server, asked with its clients' headers. */
export class Api {
  constructor(
    /** Scheme, host and port, without a slash at its end. */
    readonly baseUrl: string,
    readonly timeoutSeconds: number = ANSWER_SECONDS,
    private readonly headers: Readonly<Record<string, string>> = {},
  ) {}

  /** Asks for something that needs no model. */
  get(path: string): Promise<HttpAnswer> {
    const timeoutSeconds = Math.min(ANSWER_SECONDS, this.timeoutSeconds);
    return ask(`${this.baseUrl}${path}`, { headers: this.headers, timeoutSeconds });
  }

  /** Asks for a page once more, also where its first answer is kept. */
  again(path: string): Promise<HttpAnswer> {
    return this.get(path);
  }

  /** Sends a body and returns any answer, refusals too. */
  post(path: string, body: JsonObject): Promise<HttpAnswer> {
    const { headers, timeoutSeconds } = this;
    return ask(`${this.baseUrl}${path}`, { body, headers, timeoutSeconds });
  }

  /**
   * Like `get` or, with a body, `post`. Only a 200 with a JSON object that is not an error counts
   * as an answer.
   */
  async json(path: string, body?: JsonObject): Promise<JsonObject> {
    const answer = body === undefined ? await this.get(path) : await this.post(path, body);
    expectOk(path, answer);
    const value = jsonIn(answer.text);
    if (!isRecord(value))
      throw new BadAnswer(`${path} answered 200 without a JSON object: ${quoted(answer)}`);
    const error = errorMessage(value);
    if (error !== undefined)
      throw new BadAnswer(`${path} answered 200 with an error: ${quote(error)}`);
    return value;
  }

  /**
   * Sends a body with `stream: true`. Only a 200 with server-sent events, none of them an error,
   * counts as an answer.
   */
  async stream(path: string, body: JsonObject): Promise<ServerEvent[]> {
    const answer = await this.post(path, { ...body, stream: true });
    expectOk(path, answer);
    const events = readEvents(answer.text);
    if (events.length === 0)
      throw new BadAnswer(`${path} was asked for a stream and sent no event: ${quoted(answer)}`);
    for (const { data } of events) {
      const error = data === undefined ? undefined : errorMessage(data);
      if (error !== undefined)
        throw new BadAnswer(`${path} sent an error in its stream: ${quote(error)}`);
    }
    return events;
  }
}

/**
 * The message of an error body, in any of the known shapes; `undefined` if the body is not an
 * error.
 */
export function errorMessage(body: JsonObject): string | undefined {
  const isError = isRecord(body.error) || body.object === "error" || body.type === "error";
  if (!isError) return typeof body.error === "string" ? body.error : undefined;
  return (
    textOr(objectOr(body.error).message) || textOr(body.message) || "an error without a message"
  );
}

/** The message of a refusal, or the body that came instead. */
export function refusalText(answer: HttpAnswer): string {
  const message = errorMessage(objectOr(jsonIn(answer.text)));
  return message === undefined ? quoted(answer) : quote(message);
}

/** `/path answered STATUS: message`. */
export const answeredText = (path: string, answer: HttpAnswer): string =>
  `${path} answered ${answer.status}: ${refusalText(answer)}`;

function expectOk(path: string, answer: HttpAnswer): void {
  if (answer.status !== 200) throw new BadAnswer(answeredText(path, answer), answer.status >= 500);
}

const quoted = (answer: HttpAnswer): string =>
  answer.text.trim() === "" ? "an empty body" : `\`${quote(answer.text)}\``;
