import { attempt, defined } from "../../../faults/defined";
import { type JsonObject, jsonIn, objectOr, objectsIn, textOr } from "../../../faults/json";
import { type HttpAnswer, NoAnswer } from "../../../http/ask";
import { Metrics } from "../../../vllm/metrics";
import { type Answered, type Exchange, type Running, servedModel } from "../../rules/serverSeen";
import { Api, refusalText, type ServerEvent } from "../../sees/api";
import { CHAT } from "../surfaces/chat";
import { MESSAGES } from "../surfaces/messages";
import { RESPONSES } from "../surfaces/responses";
import type { Answer } from "../surfaces/surface";

const SURFACES = [CHAT, RESPONSES, MESSAGES];

/** Characters that are kept of each end of an answer: a call, or the end of thoughts, is there. */
const KEPT_CHARACTERS = 500;

const ends = (text: string): string =>
  text.length <= 2 * KEPT_CHARACTERS
    ? text
    : `${text.slice(0, KEPT_CHARACTERS)} ... ${text.slice(-KEPT_CHARACTERS)}`;

/** Pages that many probes read, and that tell nothing more the next time. */
const READ_OFTEN = ["/v1/models", "/metrics"];

/** The API of a server that keeps what was asked and what came of it. */
export class WatchedApi extends Api {
  /** The probe that asks. */
  probe = "";
  readonly exchanges: Exchange[] = [];
  running: Running = {};

  constructor(private readonly inner: Api) {
    super(inner.baseUrl, inner.timeoutSeconds);
  }

  override async get(path: string): Promise<HttpAnswer> {
    const answer = await this.watched(path, {}, this.inner.get(path));
    if (answer.status === 200) this.running = { ...this.running, ...toldBy(path, answer.text) };
    return answer;
  }

  override async post(path: string, body: JsonObject): Promise<HttpAnswer> {
    const answer = await this.watched(path, body, this.inner.post(path, body));
    const surface = SURFACES.find((each) => each.path === path);
    if (surface === undefined || body.stream === true) return answer;
    const value = objectOr(jsonIn(answer.text));
    this.keep(() => surface.read(value), writtenIn(value));
    return answer;
  }

  override async stream(path: string, body: JsonObject): Promise<ServerEvent[]> {
    const events = await super.stream(path, body);
    const surface = SURFACES.find((each) => each.path === path);
    if (surface !== undefined) this.keep(() => surface.readStream(events));
    return events;
  }

  /** Whether the last request was refused for want of a key. */
  get wantsKey(): boolean {
    const { probe, status = 0 } = this.exchanges.at(-1) ?? {};
    if (probe !== this.probe) return false;
    return status === 401 || status === 403;
  }

  /** Keeps a request with its answer, or with the reason why none came. */
  private async watched(
    path: string,
    body: JsonObject,
    asked: Promise<HttpAnswer>,
  ): Promise<HttpAnswer> {
    const request = { probe: this.probe, path, ...requestOf(body) };
    try {
      const answer = await asked;
      const refusal = answer.status === 200 ? undefined : refusalText(answer);
      if (refusal !== undefined || !READ_OFTEN.includes(path))
        this.exchanges.push({ ...request, status: answer.status, ...defined({ refusal }) });
      return answer;
    } catch (error) {
      if (error instanceof NoAnswer) this.exchanges.push({ ...request, noAnswer: error.reason });
      throw error;
    }
  }

  /** Keeps an answer with its request. What can't be read is judged by the probe. */
  private keep(read: () => Answer, written?: string): void {
    const last = this.exchanges.at(-1);
    const answer = attempt(read);
    if (last === undefined || last.status !== 200 || answer === undefined) return;
    const kept = { ...answered(answer), ...defined({ written }) };
    this.exchanges.splice(-1, 1, { ...last, answer: kept });
  }
}

function requestOf(body: JsonObject): Pick<Exchange, "streamed" | "tools" | "thinking"> {
  const { enable_thinking: thinking } = objectOr(body.chat_template_kwargs);
  const limit = body.max_tokens ?? body.max_output_tokens;
  return {
    streamed: body.stream === true,
    tools: objectsIn(body.tools).length,
    ...defined({
      thinking: typeof thinking === "boolean" ? thinking : undefined,
      maxTokens: typeof limit === "number" ? limit : undefined,
    }),
  };
}

const answered = ({ text, reasoning, calls, stop, tokens }: Answer): Answered => ({
  text: ends(text),
  reasoning: ends(reasoning),
  calls: calls.length,
  stop,
  prompt: tokens?.prompt ?? 0,
  completion: tokens?.completion ?? 0,
});

/** The tokens of a chat answer that was asked for their probabilities. */
function writtenIn({ choices }: JsonObject): string | undefined {
  const tokens = objectsIn(objectOr(objectsIn(choices)[0]?.logprobs).content);
  const text = tokens.map(({ token }) => textOr(token)).join("");
  return text === "" ? undefined : ends(text);
}

/** What a server's own page says of it. */
function toldBy(path: string, text: string): Running {
  if (path === "/metrics") {
    const on = new Metrics(text).labels("vllm:cache_config_info")?.enable_prefix_caching;
    return on === undefined ? {} : { prefixCaching: on.toLowerCase() === "true" };
  }
  const value = objectOr(jsonIn(text));
  if (path === "/version") return defined({ version: textOr(value.version) || undefined });
  if (path !== "/v1/models") return {};
  return { models: objectsIn(value.data).map(servedModel) };
}
