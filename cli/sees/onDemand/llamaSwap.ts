import { request } from "node:http";
import { defined } from "@local-serving/base/faults/defined";
import { Failed } from "@local-serving/base/faults/fault";
import { jsonIn, objectOr, objectsIn, textOr } from "@local-serving/base/faults/json";
import { ask, type HttpAnswer, NoAnswer } from "@local-serving/base/http/ask";
import type { MachinePlan } from "../../../components/plan";
import { quote } from "../answer";
import { refusalText } from "../api";

/** llama-swap of one machine, as the plan has it. */
export type SwapPlan = NonNullable<MachinePlan["onDemand"]>;

/** A request that llama-swap passes on, or that waits for its server to start. */
export interface SwapRequest {
  /** Key of the server. */
  readonly key: string;
  /** When it came, as ISO writes times. */
  readonly since: string;
}

/** Why llama-swap tells nothing. */
export class SwapProblem extends Failed {
  constructor(
    message: string,
    /** `silent`: nothing answers; `key`: it wants another key. */
    readonly kind: "silent" | "key" | "other",
  ) {
    super(message);
  }
}

/** Seconds for what llama-swap answers by itself. */
const ANSWER_SECONDS = 10;

/** The event behind which nothing more is known. */
const IN_FLIGHT = '"type":"inflight"';

/** llama-swap's own API (v250). The key goes with each request, and is in no message. */
export class LlamaSwap {
  constructor(
    private readonly planned: SwapPlan,
    /** Where this program reaches it: scheme, host and port. */
    readonly url: string,
    private readonly key: string | undefined,
  ) {}

  /** The key by itself, so that it can be kept out of what is said. */
  get keys(): readonly string[] {
    return this.key === undefined ? [] : [this.key];
  }

  get headers(): Record<string, string> {
    return defined({ authorization: this.key && `Bearer ${this.key}` });
  }

  /** Its word for each server that it has, by key: `starting`, `ready`, `stopping`. */
  async states(): Promise<ReadonlyMap<string, string>> {
    const { running } = objectOr(await this.json("/running"));
    return new Map(
      objectsIn(running).flatMap(({ model, state }) => {
        const key = this.keyOf(textOr(model));
        return key === undefined ? [] : [[key, textOr(state)] as const];
      }),
    );
  }

  /** The requests that it has, those that wait for a start, too; the oldest first. */
  async requests(): Promise<SwapRequest[]> {
    const { text } = await this.asked("/api/events", {
      enough: (so) => so.slice(so.indexOf(IN_FLIGHT)).includes("\n\n") && so.includes(IN_FLIGHT),
    });
    const events = text.split("\n").flatMap((line) => {
      const event = objectOr(jsonIn(line.replace(/^data: ?/, "")));
      return event.type === "inflight" ? [objectOr(jsonIn(textOr(event.data)))] : [];
    });
    return objectsIn(events[0]?.requests).flatMap(({ model, timestamp }) => {
      const key = this.keyOf(textOr(model));
      const since = Date.parse(textOr(timestamp));
      return key === undefined || Number.isNaN(since)
        ? []
        : [{ key, since: new Date(since).toISOString() }];
    });
  }

  /** Every name that it lists, servers that don't run included. */
  async names(): Promise<string[]> {
    const { data } = objectOr(await this.json("/v1/models"));
    return objectsIn(data).map(({ id }) => textOr(id));
  }

  /** When a server last ended an answer, where it keeps that. */
  async lastAnswer(key: string): Promise<string | undefined> {
    const model = encodeURIComponent(this.modelOf(key));
    const page = objectOr(await this.json(`/api/metrics/activity?limit=1&model=${model}`));
    const last = Date.parse(textOr(objectsIn(page.data)[0]?.timestamp));
    return Number.isNaN(last) ? undefined : new Date(last).toISOString();
  }

  /** Asks a server for /health, which starts it; any answer counts. */
  start(key: string, timeoutSeconds: number): Promise<HttpAnswer> {
    return ask(`${this.url}${this.pathOf(key, "/health")}`, {
      headers: this.headers,
      timeoutSeconds,
    });
  }

  /** Lets a server go. */
  async unload(key: string): Promise<void> {
    await this.asked(`/api/models/unload/${this.segmentsOf(key)}`, { body: {} });
  }

  /**
   * Keeps a server in use until it is let go: no other one is started in its place, and it isn't
   * stopped for want of requests. The server gets a request whose body never comes.
   */
  hold(key: string): () => void {
    const held = request(`${this.url}${this.pathOf(key, "/v1/chat/completions")}`, {
      method: "POST",
      agent: false,
      headers: { ...this.headers, "content-type": "application/json", "content-length": 2 },
    });
    held.on("error", () => {}).flushHeaders();
    return () => held.destroy();
  }

  /** Path by which anything of a server is asked. It starts the server. */
  pathOf(key: string, path: string): string {
    return `/upstream/${this.segmentsOf(key)}${path}`;
  }

  /** A server's model as a part of a path. */
  private segmentsOf(key: string): string {
    return this.modelOf(key).split("/").map(encodeURIComponent).join("/");
  }

  private modelOf(key: string): string {
    return this.planned.servers.find((each) => each.key === key)?.model ?? key;
  }

  private keyOf(model: string): string | undefined {
    return this.planned.servers.find((each) => each.model === model || each.names.includes(model))
      ?.key;
  }

  private async json(path: string): Promise<unknown> {
    return jsonIn((await this.asked(path)).text);
  }

  /** A 200, or a `SwapProblem` that says why there is none. */
  private async asked(path: string, asking: Parameters<typeof ask>[1] = {}): Promise<HttpAnswer> {
    const { headers } = this;
    const answer = await ask(`${this.url}${path}`, {
      timeoutSeconds: ANSWER_SECONDS,
      ...asking,
      headers,
    }).catch((error: unknown) => {
      if (!(error instanceof NoAnswer)) throw error;
      throw new SwapProblem(
        `llama-swap doesn't answer at ${this.planned.url}: ${error.message}`,
        "silent",
      );
    });
    if (answer.status === 200) return answer;
    if (answer.status === 401) throw new SwapProblem(this.keyText(), "key");
    throw new SwapProblem(
      `llama-swap answers ${quote(path)} with ${answer.status}: ${refusalText(answer)}`,
      "other",
    );
  }

  private keyText(): string {
    const { keyVariable, keyPath } = this.planned;
    const where = keyVariable === undefined ? "" : ` of ${keyVariable}`;
    return this.key === undefined
      ? `llama-swap wants a key, but none is known here: set ${keyVariable ?? "its variable"}, or run this where ${keyPath ?? "its file"} can be read`
      : `llama-swap refuses the key${where}: it was started with another one`;
  }
}
