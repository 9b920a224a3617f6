import { defined } from "@local-serving/base/faults/defined";
import {
  type JsonObject,
  jsonIn,
  objectOr,
  objectsIn,
  textOr,
} from "@local-serving/base/faults/json";
import { type HttpAnswer, NoAnswer } from "@local-serving/base/http/ask";
import { Metrics } from "@local-serving/vllm/metrics";
import {
  type Answered,
  asksForKey,
  type Exchange,
  isVllm,
  type MiscountedPart,
  type Running,
  servedModel,
  whoAnswers,
} from "../../rules/serverSeen";
import { BadAnswer, Misfit } from "../../sees/answer";
import { Api, refusalText, type ServerEvent } from "../../sees/api";
import { foreignIn } from "../../sees/foreign";
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
const SERVED = "/v1/models";
const READ_OFTEN = [SERVED, "/metrics"];

/** The API of a server that keeps what was asked and what came of it. */
export class WatchedApi extends Api {
  /** The probe that asks. */
  probe = "";
  readonly exchanges: Exchange[] = [];
  /** Parts of requests that did not arrive once. */
  readonly parts: MiscountedPart[] = [];
  running: Running;
  private served: HttpAnswer | undefined;

  constructor(private readonly inner: Api) {
    super(inner.baseUrl, inner.timeoutSeconds);
    this.running = { url: inner.baseUrl };
  }

  override async get(path: string): Promise<HttpAnswer> {
    // What is served doesn't change while it runs, and every question needs a name of it.
    if (path === SERVED && this.served !== undefined) return this.served;
    const answer = await this.again(path);
    if (answer.status !== 200) return answer;
    this.running = { ...this.running, ...toldBy(path, answer.text) };
    if (path === SERVED && isVllm(this.running)) this.served = answer;
    return answer;
  }

  /** What a page says of who answers is kept each time: behind a balancer that may be another server. */
  override async again(path: string): Promise<HttpAnswer> {
    const answer = await this.watched(path, {}, this.inner.get(path));
    const who = answer.status === 200 ? whoAnswers(toldBy(path, answer.text)) : undefined;
    const known = this.running.answeredAs?.[path] ?? [];
    if (who !== undefined && !known.includes(who))
      this.running = {
        ...this.running,
        answeredAs: { ...this.running.answeredAs, [path]: [...known, who] },
      };
    return answer;
  }

  override async post(path: string, body: JsonObject): Promise<HttpAnswer> {
    const answer = await this.watched(path, body, this.inner.post(path, body));
    const surface = SURFACES.find((each) => each.path === path);
    if (surface === undefined || body.stream === true) return answer;
    const value = objectOr(jsonIn(answer.text));
    this.keep(() => surface.read(value), {
      ...defined({ written: writtenIn(value), model: textOr(value.model) || undefined }),
    });
    return answer;
  }

  /** A client hands out what comes under another type as mere text, or throws it away. */
  override async json(path: string, body?: JsonObject): Promise<JsonObject> {
    const value = await this.noted(super.json(path, body));
    this.expectTyped(path);
    return value;
  }

  override async stream(path: string, body: JsonObject): Promise<ServerEvent[]> {
    const events = await this.noted(super.stream(path, body));
    this.expectTyped(path);
    const surface = SURFACES.find((each) => each.path === path);
    if (surface !== undefined) this.keep(() => surface.readStream(events));
    return events;
  }

  /** Whether the last request was refused for want of a key. */
  get wantsKey(): boolean {
    const last = this.exchanges.at(-1);
    return last !== undefined && last.probe === this.probe && asksForKey(last);
  }

  /** Whether nothing listens there. */
  get isRefused(): boolean {
    return this.exchanges.at(-1)?.noAnswer === "refused";
  }

  /** Whether what answers here isn't vLLM by all that it says of itself. */
  async isOther(): Promise<boolean> {
    this.probe = "";
    for (const path of [SERVED, "/"]) {
      if (isVllm(this.running)) return false;
      const asked = this.exchanges.some((each) => each.path === path);
      // What is silent stays silent, for the longest time that a question may take.
      if (this.exchanges.at(-1)?.noAnswer === "timeout" && path !== SERVED) continue;
      if (!asked) await this.get(path).catch(() => undefined);
    }
    return !isVllm(this.running);
  }

  /** Keeps the words of an error that came with a good status. */
  private async noted<T>(asked: Promise<T>): Promise<T> {
    try {
      return await asked;
    } catch (error) {
      const last = this.exchanges.at(-1);
      if (error instanceof BadAnswer && last?.status === 200 && last.refusal === undefined)
        this.exchanges.splice(-1, 1, { ...last, refusal: error.message });
      throw error;
    }
  }

  private expectTyped(path: string): void {
    const { foreign, path: last } = this.exchanges.at(-1) ?? {};
    if (last === path && foreign?.form === "mistyped")
      throw new BadAnswer(`${path} answered under the wrong type \`${foreign.says}\``);
  }

  /** Keeps a request with its answer, or with the reason why none came. */
  private async watched(
    path: string,
    body: JsonObject,
    asked: Promise<HttpAnswer>,
  ): Promise<HttpAnswer> {
    const request = { probe: this.probe, path, ...requestOf(body) };
    const started = performance.now();
    try {
      const answer = await asked;
      const { status } = answer;
      const refusal = status === 200 ? undefined : refusalText(answer);
      const foreign = foreignIn(path, answer, request.streamed);
      const seconds = foreign && Math.round(performance.now() - started) / 1000;
      if (refusal !== undefined || foreign !== undefined || !READ_OFTEN.includes(path))
        this.exchanges.push({ ...request, status, ...defined({ refusal, foreign, seconds }) });
      return answer;
    } catch (error) {
      if (error instanceof NoAnswer) this.exchanges.push({ ...request, noAnswer: error.reason });
      throw error;
    }
  }

  /** Keeps an answer with its request. What can't be read is judged by the probe. */
  private keep(read: () => Answer, more: Partial<Answered> = {}): void {
    const last = this.exchanges.at(-1);
    if (last === undefined || last.status !== 200) return;
    try {
      const answer = { ...answered(read()), ...more };
      this.exchanges.splice(-1, 1, { ...last, answer });
    } catch (error) {
      if (error instanceof Misfit) this.exchanges.splice(-1, 1, { ...last, misfit: error.message });
    }
  }
}

function requestOf(body: JsonObject): Pick<Exchange, "streamed" | "tools" | "thinking" | "bytes"> {
  const { enable_thinking: thinking } = objectOr(body.chat_template_kwargs);
  const limit = body.max_tokens ?? body.max_output_tokens;
  return {
    streamed: body.stream === true,
    tools: objectsIn(body.tools).length,
    ...defined({
      bytes: Object.keys(body).length === 0 ? undefined : Buffer.byteLength(JSON.stringify(body)),
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
    return {
      ...defined({
        vllmMetrics: /^vllm:/m.test(text) || undefined,
        prefixCaching: on === undefined ? undefined : on.toLowerCase() === "true",
      }),
    };
  }
  const value = objectOr(jsonIn(text));
  if (path === "/version") return defined({ version: textOr(value.version) || undefined });
  if (path !== SERVED) return {};
  return { models: objectsIn(value.data).map(servedModel) };
}
