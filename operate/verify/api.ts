import { readEvents, type ServerEvent } from "./events";
import { type Answer, ask } from "./http";
import { isJsonObject, type JsonObject, objectOr, parseJson, textOr } from "./json";
import { BadAnswer } from "./probe";
import { quote } from "./quote";

/** Seconds for questions that need no model: lists, health, metrics. */
const QUICK_SECONDS = 10;

/** One server's HTTP surface as its clients use it. */
export class Api {
  constructor(
    /** Scheme, host and port, without a slash at its end. */
    readonly baseUrl: string,
    /** Seconds that one answer of the model may take. */
    readonly timeoutSeconds: number,
    private readonly headers: Readonly<Record<string, string>> = {},
  ) {}

  /** Asks for something that needs no model. */
  get(path: string): Promise<Answer> {
    const timeoutSeconds = Math.min(QUICK_SECONDS, this.timeoutSeconds);
    return ask(`${this.baseUrl}${path}`, { headers: this.headers, timeoutSeconds });
  }

  /** Sends a body and gives back whatever comes, refusals too. */
  post(path: string, body: JsonObject, timeoutSeconds = this.timeoutSeconds): Promise<Answer> {
    return ask(`${this.baseUrl}${path}`, { body, headers: this.headers, timeoutSeconds });
  }

  /** As `get` or, with a body, `post`; only a 200 with a JSON object that is no error is an answer. */
  async json(path: string, body?: JsonObject): Promise<JsonObject> {
    const answer = body === undefined ? await this.get(path) : await this.post(path, body);
    expectOk(path, answer);
    const value = parseJson(answer.text);
    if (!isJsonObject(value)) {
      throw new BadAnswer(`${path} answered 200 without a JSON object: ${quoted(answer)}`);
    }
    const error = errorMessage(value);
    if (error !== undefined) throw new BadAnswer(`${path} answered 200 with an error: ${quote(error)}`);
    return value;
  }

  /** Sends a body with `stream: true`; only a 200 with server-sent events, none of them an error, is an answer. */
  async stream(path: string, body: JsonObject): Promise<ServerEvent[]> {
    const answer = await this.post(path, { ...body, stream: true });
    expectOk(path, answer);
    const events = readEvents(answer.text);
    if (events.length === 0) {
      throw new BadAnswer(`${path} was asked for a stream and sent no event: ${quoted(answer)}`);
    }
    for (const { data } of events) {
      const error = data === undefined ? undefined : errorMessage(data);
      if (error !== undefined) throw new BadAnswer(`${path} sent an error in its stream: ${quote(error)}`);
    }
    return events;
  }
}

/** Text of an error body in any of the known shapes; `undefined` where it is none. */
export function errorMessage(body: JsonObject): string | undefined {
  const isError = isJsonObject(body.error) || body.object === "error" || body.type === "error";
  if (!isError) return typeof body.error === "string" ? body.error : undefined;
  return textOr(objectOr(body.error).message) || textOr(body.message) || "an error without a message";
}

/** A refusal's message, or what came instead. */
export function refusalText(answer: Answer): string {
  const value = parseJson(answer.text);
  const message = isJsonObject(value) ? errorMessage(value) : undefined;
  return message === undefined ? quoted(answer) : quote(message);
}

function expectOk(path: string, answer: Answer): void {
  if (answer.status === 200) return;
  throw new BadAnswer(`${path} answered ${answer.status}: ${refusalText(answer)}`);
}

function quoted(answer: Answer): string {
  return answer.text.trim() === "" ? "an empty body" : `\`${quote(answer.text)}\``;
}
