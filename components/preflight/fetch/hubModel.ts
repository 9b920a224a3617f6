import { join } from "node:path";
import { defined } from "@local-serving/base/faults/defined";
import { Failed, orInputFault } from "@local-serving/base/faults/fault";
import {
  isRecord,
  type JsonObject,
  jsonIn,
  objectOr,
  textOr,
} from "@local-serving/base/faults/json";
import { parseJson } from "@local-serving/base/faults/jsonDocument";
import { LARGEST_ANSWER_BYTES } from "@local-serving/base/http/ask";
import { BYTES_PER_GB } from "@local-serving/base/units/memory";
import { type ModelCache, snapshotOf, weightsOf } from "@local-serving/machines/hubCache";
import { explained, isCertain } from "./causes";
import { askHub, type HubListing, hubText, tokenIn, weightBytes } from "./hub";
import { toolParserIn } from "./toolSigns";
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

/** Nothing was read of a model itself: its name may still say something, and the size of its files. */
export class HubUnread extends Failed {
  constructor(
    message: string,
    /** Size of its weights in GB (10^9 bytes), where the hub lists its files but gives none of them. */
    readonly weightsGB?: number,
  ) {
    super(message);
  }
}

/**
 * What a model's files in a cache say of it; `undefined` where they aren't there. Throws `Failed` for
 * a model that isn't served here.
 */
export function readCachedModel(id: string, cache: ModelCache): HubModelFacts | undefined {
  const snapshot = snapshotOf(cache, id);
  const isThere = snapshot !== undefined && cache.text(join(snapshot, FILES.config)) !== undefined;
  return isThere ? factsOf(inCache(cache, id, snapshot)) : undefined;
}

/**
 * Reads what a model's own files say: config, size of the weights, chat template. Throws `Failed`
 * with one sentence for a model that can't be read, or that isn't served here.
 */
export async function readHubModel(
  id: string,
  { cache, tokenVariable }: HubReading,
): Promise<HubModelFacts> {
  const cached = readCachedModel(id, cache);
  if (cached !== undefined) return cached;
  const of = { kind: "model", name: id, readHere: true, ...defined({ tokenVariable }) } as const;
  const token = process.env[tokenVariable ?? ""] || tokenIn(cache);
  const listing = await askHub({ id }, token);
  const said = (words: string) =>
    `${explained(of, words, "the same command again")}${proxyText(id, words)}`;
  if (typeof listing === "string")
    throw isCertain(listing) ? new Failed(said(listing)) : new HubUnread(said(listing));
  // The index of a model of many layers and experts is larger than any answer that is read: then
  // the sizes of the files tell.
  const wanted = Object.values(FILES).filter((file) =>
    listing.files.some(({ path, bytes }) => path === file && bytes <= LARGEST_ANSWER_BYTES),
  );
  const read = await Promise.all(
    wanted.map(async (path) => [path, await hubText(listing, path, token)] as const),
  );
  const texts = new Map<string, string>();
  for (const [path, text] of read) {
    if (text instanceof Error)
      throw new HubUnread(said(text.message), atHub(listing, texts).weightsGB);
    texts.set(path, text);
  }
  return factsOf(atHub(listing, texts));
}

/** What to do where only a proxy gets to the hub, which is asked without one. */
function proxyText(id: string, words: string): string {
  const { HTTPS_PROXY, https_proxy: lower } = process.env;
  if (isCertain(words) || !(HTTPS_PROXY || lower)) return "";
  return ` HTTPS_PROXY is not used here: first download the model into the machine's cache (\`hf download ${id}\`), where it is read without the hub.`;
}

/** A repository with the texts that were read of it. */
interface ReadRepository extends Omit<Repository, "config" | "adapter" | "revision"> {
  readonly revision: string;
  readonly from: HubModelFacts["from"];
  readonly weightsGB: number | undefined;
  text(file: string): string | undefined;
}

function inCache(cache: ModelCache, id: string, snapshot: string): ReadRepository {
  return {
    id,
    task: "",
    files: cache.names(snapshot),
    from: "cache",
    revision: snapshot.split("/").at(-1) ?? "",
    weightsGB: weightsOf(cache, snapshot),
    text: (file) => cache.text(join(snapshot, file)),
  };
}

function atHub({ id, task, commit, files }: HubListing, texts: ReadonlyMap<string, string>) {
  const index = objectOr(objectOr(jsonIn(texts.get(FILES.index) ?? "")).metadata);
  const bytes = weightBytes(files);
  const total = typeof index.total_size === "number" ? index.total_size : bytes;
  const read: ReadRepository = {
    id,
    task,
    revision: commit,
    from: "hub",
    files: files.map(({ path }) => path),
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
  const why = unserved({ id, files, task, revision, ...defined({ config, adapter }) });
  if (why !== undefined || text === undefined || config === undefined) throw new Failed(why ?? id);
  const template = read.text(FILES.template) ?? templateIn(read.text(FILES.tokenizer) ?? "");
  const isMistrals = template === "" && files.some((file) => CHATS.test(file));
  const tool = isMistrals ? "mistral" : toolParserIn(template, textOr(config.model_type));
  const kind = kindOf({ id, files, task, config }, template);
  return {
    id,
    revision,
    from,
    config,
    text,
    thinking: THINKING.test(template),
    ...defined({ weightsGB, kind, tool }),
  };
}

function configIn(id: string, text: string): JsonObject {
  const read = orInputFault(() => parseJson(FILES.config, text, { pythonNumbers: true }));
  if (!(read instanceof Error) && isRecord(read.value)) return read.value;
  throw new Failed(
    `The config.json of ${id} isn't a JSON object: choose another repository of the model.`,
  );
}

/** The chat template in a tokenizer_config.json; of several all, since one of them is for tools. */
function templateIn(tokenizer: string): string {
  const own = objectOr(jsonIn(tokenizer)).chat_template;
  const several = Array.isArray(own) ? own : [];
  return textOr(own) || several.map((each) => textOr(objectOr(each).template)).join("\n");
}

/** Where a chat template lets a model think before it answers. */
const THINKING = /enable_thinking|<think>|reasoning_effort|thinking/;

/** Files of sentence-transformers: the model makes vectors. */
const VECTORS = /^(modules\.json|1_Pooling\/config\.json|config_sentence_transformers\.json)$/;

/** Classes of models that sort documents or score texts, and of those that make vectors. */
const SORTS = /(?:ForSequenceClassification|ForRanking|RewardModel)$/;
const MAKES_VECTORS =
  /Embeddings?(?:V\d+)?(?:Model)?$|^(?:Bert|Roberta|XLMRoberta|MPNet|NomicBert|ModernBert|DistilBert)\w*(?:Model|MaskedLM)$/;

/** Mistral's own tokenizers hold their chat format themselves. */
const CHATS = /^(tekken\.json|tokenizer\.model\.v\d+|params\.json)$/;

/** Models without a template whose chat format vLLM writes itself (vllm/config/model.py of 0.30). */
const WRITTEN_BY_VLLM = /^deepseek_v(32|4)$/;

function kindOf({ files, task, config }: Repository, template: string): HubModelFacts["kind"] {
  const classes = [config?.architectures].flat().map(String);
  const sorts = classes.some((each) => SORTS.test(each));
  if (task === "text-ranking" || sorts) return "rerank";
  if (task === "feature-extraction" || task === "sentence-similarity") return "embedding";
  if (files.some((file) => VECTORS.test(file))) return "embedding";
  if (classes.some((each) => MAKES_VECTORS.test(each))) return "embedding";
  const isWritten =
    files.some((file) => CHATS.test(file)) || WRITTEN_BY_VLLM.test(textOr(config?.model_type));
  return template !== "" || isWritten ? "chat" : undefined;
}
