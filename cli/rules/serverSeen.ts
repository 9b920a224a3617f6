import { defined } from "@local-serving/base/faults/defined";
import { type JsonObject, textOr } from "@local-serving/base/faults/json";
import type { NoAnswerReason } from "../sees/answer";
import type { Foreign } from "../sees/foreign";

/** One request of a probe and what came of it, as data: rules judge by these alone. */
export interface Exchange {
  /** The probe that asked; "" for a question that was asked after them, to look closer. */
  readonly probe: string;
  readonly path: string;
  readonly streamed: boolean;
  /** How many tools were offered. */
  readonly tools: number;
  /** Whether the request switched the thinking on or off; left out where it says nothing of it. */
  readonly thinking?: boolean;
  readonly maxTokens?: number;
  /** Status of the answer; left out where none came. */
  readonly status?: number;
  /** The server's words where the status is not 200. */
  readonly refusal?: string;
  /** Bytes of its body. */
  readonly bytes?: number;
  /** Seconds until something else than an answer of vLLM came. */
  readonly seconds?: number;
  /** What came in the place of an answer in vLLM's own form. */
  readonly foreign?: Foreign;
  /** The first event of its stream that doesn't fit, or what the stream lacks. */
  readonly misfit?: string;
  /** Why no answer came. */
  readonly noAnswer?: NoAnswerReason;
  readonly answer?: Answered;
}

/** An answer in text or calls, whatever the API. */
export interface Answered {
  /** Its text and its reasoning, both cut. */
  readonly text: string;
  readonly reasoning: string;
  /** What the model wrote, token by token, before any parser read it; only where it was asked. */
  readonly written?: string;
  /** How many calls are structured. */
  readonly calls: number;
  /** Why it ended, in the API's own word. */
  readonly stop: string;
  /** Tokens that the server counted; 0 where it says nothing of them. */
  readonly prompt: number;
  readonly completion: number;
  /** Name of the model that it is said to be of. */
  readonly model?: string;
}

/** Parts of a conversation that a template, or what stands before it, may leave out. */
export const PARTS = {
  system: "the system prompt",
  turn: "the earlier turns",
  result: "a tool's result",
} as const;

/** A part that doesn't reach the model once, by the tokens of the prompt with it and without. */
export interface MiscountedPart {
  readonly probe: string;
  readonly path: string;
  readonly part: keyof typeof PARTS;
  /** How often it is in the prompt: 0 where it is lost. */
  readonly times: number;
  /** Words that the part was longer by. */
  readonly words: number;
  /** Tokens of the prompt without these words, and with them. */
  readonly tokens: readonly [without: number, having: number];
}

/** "twice", "3 times". */
export const timesText = (times: number): string => (times === 2 ? "twice" : `${times} times`);

/** What a server says of itself. */
export interface Running {
  /** Where it was asked. */
  readonly url?: string;
  /** Whether its metrics are vLLM's. */
  readonly vllmMetrics?: boolean;
  readonly models?: readonly ServedModel[];
  readonly version?: string;
  /** Who answered for a page, each time that it was asked: several behind a balancer. */
  readonly answeredAs?: Readonly<Record<string, readonly string[]>>;
  /** Whether it keeps prefixes, by its metrics. */
  readonly prefixCaching?: boolean;
  /** What its container was started with, where it is ours. */
  readonly argv?: readonly string[];
  /** How its container differs from the stack file in image, arguments and variables. */
  readonly differs?: readonly string[];
}

/** What the stack file says of a server. */
export interface ServerAsDeclared {
  readonly name: string;
  /** Its place in the stack file, `machines.dgx.inferenceServers.b`. */
  readonly place: string;
  readonly model: string;
  /** Names that it answers to, the canonical one first. */
  readonly names: readonly string[];
  readonly thinking: boolean;
  readonly maxModelLen: number;
  readonly toolParser: string | null;
  readonly reasoningParser: string | null;
  readonly prefixCaching: boolean;
  /** The version that it records. */
  readonly vllm?: string;
  /** What it is started with. */
  readonly argv: readonly string[];
  /** Whether a container of ours runs it. */
  readonly ours: boolean;
}

/** Everything that is known of a server once its probes have run. */
export interface ServerSeen {
  readonly declared: ServerAsDeclared;
  readonly running: Running;
  /** The probes that failed, in the order of the run. */
  readonly failed: readonly string[];
  readonly exchanges: readonly Exchange[];
  /** Parts of requests that did not reach the model once. */
  readonly parts?: readonly MiscountedPart[];
}

/**
 * Whether what answers is vLLM: its models are its own, or nobody's and have a window, or its
 * metrics are.
 */
export const isVllm = ({ models = [], vllmMetrics }: Running): boolean =>
  vllmMetrics === true ||
  models.some(
    ({ owner, window }) => owner === "vllm" || (owner === undefined && window !== undefined),
  );

/** Whether an answer asks for a key or a password. A page of 403 is a filter's. */
export const asksForKey = ({ status, foreign }: Pick<Exchange, "status" | "foreign">): boolean =>
  status === 401 || (status === 403 && foreign?.form !== "page");

/** The failed probes with a request of which this is true. */
export const failedWith = (
  { failed, exchanges }: Pick<ServerSeen, "failed" | "exchanges">,
  is: (exchange: Exchange) => boolean,
): string[] => failed.filter((name) => exchanges.some((each) => each.probe === name && is(each)));

/** Requests that were asked after the probes, to look closer. */
export const followUps = ({ exchanges }: ServerSeen, path: string): Exchange[] =>
  exchanges.filter((each) => each.probe === "" && each.path === path);

/**
 * Whether an answer didn't come in time, though the server still answers with one token: beside a
 * model that doesn't end its answers, this is one of them.
 */
export const isEndless = (seen: ServerSeen, { noAnswer }: Exchange): boolean =>
  noAnswer === "timeout" && followUps(seen, "/v1/completions").some(({ status }) => status === 200);

/** An entry of /v1/models. */
export interface ServedModel {
  readonly id: string;
  /** The model behind the name, as the server was started with it. */
  readonly root?: string;
  /** The model that an adapter belongs to. */
  readonly parent?: string;
  readonly window?: number;
  /** The program that serves it. */
  readonly owner?: string;
}

export const servedModel = ({
  id,
  root,
  parent,
  owned_by: owner,
  max_model_len: window,
}: JsonObject): ServedModel => ({
  id: textOr(id),
  ...defined({
    root: textOr(root) || undefined,
    parent: textOr(parent) || undefined,
    window: typeof window === "number" ? window : undefined,
    owner: textOr(owner) || undefined,
  }),
});

/** Who a page says that it is of, in words; `undefined` where it says nothing of that. */
export function whoAnswers({ models, version }: Running): string | undefined {
  if (version !== undefined) return `vLLM ${version}`;
  if (models === undefined || models.length === 0) return undefined;
  const kindOf = ({ root = "", window = 0 }: ServedModel) => `${root} ${window}`;
  const told = [...new Set(models.map(kindOf))].map((kind) => {
    const group = models.filter((each) => kindOf(each) === kind);
    const [{ root = "", window } = {}] = group;
    const ids = group.map(({ id }) => id).sort();
    const of = root === "" || ids.includes(root) ? "" : `, that is ${root},`;
    return `\`${ids.join("`, `")}\`${of}${window === undefined ? "" : ` with a window of ${window}`}`;
  });
  return told.sort().join(" and ");
}

/** Those who answer in turns where one server is asked; none where it is one. */
export const severalAt = ({ answeredAs = {} }: Running): readonly string[] =>
  Object.values(answeredAs).find((each) => each.length > 1) ?? [];

/** `owner/name`; a path has more slashes, or begins with one, a dot or a tilde. */
const HUB_ID = /^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*$/;

/**
 * The model that is served in the place of the declared one. Only where both are hub ids: a folder,
 * a path in the cache, an adapter, or a proxy that repeats the name say nothing.
 */
export function otherModel(declared: string, entries: readonly ServedModel[]): string | undefined {
  const same = (id: string) => id.toLowerCase() === declared.toLowerCase();
  const roots = entries.flatMap(({ id, root, parent }) =>
    root === undefined || parent !== undefined || root === id ? [] : [root],
  );
  const [root] = roots;
  if (root === undefined || !HUB_ID.test(root) || !HUB_ID.test(declared)) return undefined;
  return roots.some(same) ? undefined : root;
}
