import { join } from "node:path";
import { defined } from "../../faults/defined";
import { Failed } from "../../faults/fault";
import { isRecord, type JsonObject, jsonIn, objectOr, textOr } from "../../faults/json";
import { type ModelCache, snapshotOf, weightsOf } from "../../machines/hubCache";
import { BYTES_PER_GB } from "../../units/memory";
import { explained } from "./causes";
import { askHub, type HubListing, hubText, tokenIn } from "./hub";
import { type Repository, unserved } from "./unserved";

/** What a model's own files say of it. */
export interface HubModelFacts {
  /** Its id as the hub spells it. */
  readonly id: string;
  /** Commit that was read. */
  readonly revision: string;
  readonly from: "hub" | "cache";
  readonly config: JsonObject;
  /** The text of its config.json. */
  readonly text: string;
  /** Size of its weights in GB (10^9 bytes), by its index or its files. */
  readonly weightsGB?: number;
  /** `undefined` for a model that only continues a text. */
  readonly kind?: "chat" | "embedding" | "rerank";
  /** Whether its chat template has a thinking mode. */
  readonly thinking: boolean;
  /** Tool parser for what its chat template writes, where that is of a known form. */
  readonly tool?: string;
}

/** Where a model is read: in the machine's cache first, else at the hub. */
export interface HubReading {
  readonly cache: ModelCache;
  /** Variable that holds the hub's token, where the stack file names one. */
  readonly tokenVariable?: string;
}

const FILES = {
  config: "config.json",
  adapter: "adapter_config.json",
  index: "model.safetensors.index.json",
  tokenizer: "tokenizer_config.json",
  template: "chat_template.jinja",
} as const;

/**
 * Reads what a model's own files say: config, size of the weights, chat template. Throws `Failed`
 * with one sentence for a model that can't be read, or that isn't served here.
 */
export async function readHubModel(
  id: string,
  { cache, tokenVariable }: HubReading,
): Promise<HubModelFacts> {
  const snapshot = snapshotOf(cache, id);
  if (snapshot !== undefined && cache.text(join(snapshot, FILES.config)) !== undefined)
    return factsOf(inCache(cache, id, snapshot));
  const of = { kind: "model", name: id, ...defined({ tokenVariable }) } as const;
  const token = process.env[tokenVariable ?? ""] || tokenIn(cache);
  const listing = await askHub({ id }, token);
  const failed = (words: string) => new Failed(explained(of, words, "the same command again"));
  if (typeof listing === "string") throw failed(listing);
  const wanted = Object.values(FILES).filter((file) =>
    listing.files.some(({ path }) => path === file),
  );
  const read = await Promise.all(
    wanted.map(async (path) => [path, await hubText(listing, path, token)] as const),
  );
  const texts = new Map<string, string>();
  for (const [path, text] of read) {
    if (text instanceof Error) throw failed(text.message);
    texts.set(path, text);
  }
  return factsOf(atHub(listing, texts));
}

/** A repository with the texts that were read of it. */
interface ReadRepository extends Omit<Repository, "config" | "adapter"> {
  readonly revision: string;
  readonly from: HubModelFacts["from"];
  readonly weightsGB: number | undefined;
  text(file: string): string | undefined;
}

function inCache(cache: ModelCache, id: string, snapshot: string): ReadRepository {
  return {
    ...{ id, task: "", files: cache.names(snapshot), from: "cache" },
    revision: snapshot.split("/").at(-1) ?? "",
    weightsGB: weightsOf(cache, snapshot),
    text: (file) => cache.text(join(snapshot, file)),
  };
}

function atHub({ id, task, commit, files }: HubListing, texts: ReadonlyMap<string, string>) {
  const index = objectOr(objectOr(jsonIn(texts.get(FILES.index) ?? "")).metadata);
  const whole = files.filter(({ path }) => /^[^/]+\.safetensors$/.test(path));
  const bytes = whole.reduce((sum, each) => sum + each.bytes, 0);
  const total = typeof index.total_size === "number" ? index.total_size : bytes;
  const read: ReadRepository = {
    ...{ id, task, revision: commit, from: "hub", files: files.map(({ path }) => path) },
    weightsGB: total > 0 ? total / BYTES_PER_GB : undefined,
    text: (file) => texts.get(file),
  };
  return read;
}

function factsOf(read: ReadRepository): HubModelFacts {
  const { id, files, task, revision, from, weightsGB } = read;
  const text = read.text(FILES.config);
  const config = text === undefined ? undefined : configIn(id, text);
  const adapterText = read.text(FILES.adapter);
  const adapter = adapterText === undefined ? undefined : objectOr(jsonIn(adapterText));
  const why = unserved({ id, files, task, ...defined({ config, adapter }) });
  if (why !== undefined || text === undefined || config === undefined) throw new Failed(why ?? id);
  const own = objectOr(jsonIn(read.text(FILES.tokenizer) ?? "")).chat_template;
  const template =
    read.text(FILES.template) ?? (Array.isArray(own) ? JSON.stringify(own) : textOr(own));
  const tool = TOOL_SIGNS.find(([sign]) => sign.test(template))?.[1];
  const kind = kindOf({ id, files, task, config }, template);
  return {
    ...{ id, revision, from, config, text, thinking: THINKING.test(template) },
    ...defined({ weightsGB, kind, tool }),
  };
}

function configIn(id: string, text: string): JsonObject {
  const config = jsonIn(text.replace(/:\s*(-?Infinity|NaN)\b/g, ": null"));
  if (isRecord(config)) return config;
  throw new Failed(`The config.json of ${id} is no JSON object: choose another repository of it.`);
}

/** Where a chat template lets a model think before it answers. */
const THINKING = /enable_thinking|<think>|reasoning_effort|thinking/;

/** Tool parsers by what a chat template writes for a call; the first that fits counts. */
const TOOL_SIGNS: readonly (readonly [sign: RegExp, parser: string])[] = [
  [/<function=/, "qwen3_coder"],
  [/<arg_key>/, "glm45"],
  [/<minimax:tool_call>/, "minimax_m2"],
  [/<\|tool_calls_section_begin\|>/, "kimi_k2"],
  [/\[TOOL_CALLS\]/, "mistral"],
  [/<tool_call>/, "hermes"],
  [/<\|python_tag\|>/, "llama3_json"],
];

/** Files of sentence-transformers: the model makes vectors. */
const VECTORS = /^(modules\.json|1_Pooling\/config\.json|config_sentence_transformers\.json)$/;

/** Mistral's own tokenizers hold their chat format themselves. */
const CHATS = /^(tekken\.json|tokenizer\.model\.v\d+|params\.json)$/;

function kindOf({ files, task, config }: Repository, template: string): HubModelFacts["kind"] {
  const classes = [config?.architectures].flat().map(String);
  const sorts = classes.some((each) => each.endsWith("ForSequenceClassification"));
  if (task === "text-ranking" || sorts) return "rerank";
  if (task === "feature-extraction" || task === "sentence-similarity") return "embedding";
  if (files.some((file) => VECTORS.test(file))) return "embedding";
  return template !== "" || files.some((file) => CHATS.test(file)) ? "chat" : undefined;
}
