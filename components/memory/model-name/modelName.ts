import { GIB_PER_GB } from "@local-serving/base/units/memory";
import { ownSizes } from "./modelSizes";

/** What a model's name says that it is for; `chat` where it says nothing else. */
export type NamedKind =
  | "chat"
  | "embedding"
  | "rerank"
  | "classifier"
  | "guard"
  | "vision"
  | "audio"
  | "transcription"
  | "speech"
  | "pictures";

/** What a model of such a name does, and what it is in a stack file. */
const SAID_OF: Readonly<Record<Exclude<NamedKind, "chat">, string>> = {
  embedding:
    "is for embeddings: it is `model.kind: embedding`, which runs with --runner pooling and without tools or clients",
  rerank:
    "is for sorting documents: it is `model.kind: rerank`, which runs with --runner pooling and without tools or clients",
  classifier:
    "gives texts a class or a score: it is `model.kind: rerank`, which runs with --runner pooling and without tools or clients",
  guard:
    "judges texts (a guard): it answers with its verdict and makes no tool calls, so it is `tools: { autoChoice: false }`",
  vision: "reads pictures beside text: it is a chat model",
  audio: "hears sound beside text: it is a chat model",
  transcription: "turns speech into text, so it is no chat model",
  speech: "turns text into speech, so it is no chat model",
  pictures: "makes pictures or videos, so it is no chat model",
};

/** What a model's name says of its kind, behind `it`; `undefined` where it says nothing. */
export function saidOfKind(id: string): string | undefined {
  const { kind } = readModelName(id);
  return kind === "chat" ? undefined : SAID_OF[kind];
}

/** The kind of a pooling model by its name; `undefined` for any other. */
export function namedPooling(id: string): "embedding" | "rerank" | undefined {
  const { kind } = readModelName(id);
  if (kind === "classifier") return "rerank";
  return kind === "embedding" || kind === "rerank" ? kind : undefined;
}

/** Whether a model makes no tool calls by its name: one for vectors or scores, for speech, or a guard. */
export function makesNoCalls(id: string): boolean {
  const { kind } = readModelName(id);
  return kind !== "chat" && kind !== "vision" && kind !== "audio";
}

/** Says of a model that speaks, listens, draws or is made for another program by its name why it isn't served here. */
export function unservedByName(id: string): string | undefined {
  const { kind, bits = SIXTEEN } = readModelName(id);
  if (MLX.test(id) && bits < SIXTEEN) return `By its name, ${id} ${MLX_WEIGHTS}`;
  if (kind === "pictures") return `By its name, ${id} ${SAID_OF[kind]}. ${NO_PICTURES}`;
  return kind === "transcription" || kind === "speech"
    ? `By its name, ${id} ${SAID_OF[kind]}. ${NO_SPEECH}`
    : undefined;
}

const MLX = /(?<![a-z\d])mlx(?![a-z\d])/i;
const SIXTEEN = 16;

/** Said behind the id of a model whose weights only MLX reads. */
export const MLX_WEIGHTS =
  "has weights that are quantized for MLX, which vLLM doesn't read: choose the repository that it was made from, or another quantization of that.";

/** What to do with a model that draws. */
export const NO_PICTURES =
  "A vLLM server writes text: run it in a program for pictures such as ComfyUI, and declare its memory as `otherGpuMemoryGiB`.";

/** What to do with a model that speaks or listens. */
export const NO_SPEECH =
  "No server here supports such a model: run it in a program of its own, and declare its memory as `otherGpuMemoryGiB`.";

/** What people read in a model's id. */
export interface ModelName {
  readonly kind: NamedKind;
  /** The number of all parameters in billions, as it is written: 397 of `397B-A17B`, about 45 of `8x7B`. */
  readonly billions?: number;
  /** The least bits of a weight; absent where a word only says that there are fewer than 16. */
  readonly bits?: number;
  /** Whether it consists of GGUF files, as llama.cpp and Ollama read them. */
  readonly gguf: boolean;
}

/** A lower bound of a model's weights, read from its id alone. */
export interface NamedWeights {
  /** Size in GB (10^9 bytes), on the disk and loaded. */
  readonly gb: number;
  readonly gib: number;
  /**
   * The size that the name says, before its number is taken lower for being rounded; left out where
   * several numbers stand there.
   */
  readonly aboutGiB?: number;
  /** Where it is from: `397B parameters of 8 bits, by its name`. */
  readonly source: string;
}

/** A word of a name stands alone: no letter or digit is beside it. */
const word = (pattern: string): RegExp => new RegExp(`(?<![a-z\\d])(?:${pattern})(?![a-z\\d])`);

/** Kinds by their words, the first that fits. */
const KINDS: readonly (readonly [NamedKind, RegExp])[] = [
  [
    "pictures",
    /stable-?diffusion|diffusers|hunyuan-?(?:image|video)|(?:text|image)2(?:image|video)/,
  ],
  ["pictures", word("(?:t|i|s|ti|txt|img)2(?:i|v|img)|sdxl|flux|ltx")],
  // A model that reads pictures has a word for what it does with them behind it.
  [
    "pictures",
    word(
      "image(?![-_](?:capt|text|to|embed|class|segm|enc|reward|chat|instr|q|rerank|guard|retr|underst))(?!.*/)",
    ),
  ],
  ["rerank", /(?:^cross-encoder\/|rerank|ms-marco|zerank)(?!.*\/)/],
  ["embedding", /^sentence-transformers\/|(?:embed|minilm|mpnet)(?!.*\/)/],
  ["embedding", word("bge(?:m3)?|e5|gte|colbert|uae|stella|contriever|labse|specter2?|splade")],
  ["classifier", /(?:prompt-?guard|classif)(?!.*\/)/],
  ["classifier", word("reward|prm|rm|nli|(?:xlm-)?roberta|deberta")],
  ["guard", /(?:guard(?:ian)?|shieldgemma|content-?safety)(?!.*\/)/],
  ["transcription", /whisper|parakeet|wav2vec|(?:^|[/-])canary/],
  ["transcription", word("asr|stt")],
  ["speech", word("tts|xtts|kokoro|orpheus|bark|speecht5|parler|vibevoice|cosyvoice\\d*")],
  ["audio", /voxtral/],
  ["audio", word("audio")],
  ["vision", word("v|vl\\d*|vlm|omni|ocr|vision|\\d+v|internvl\\S*|pixtral")],
];

/** Names of files that are no model's whole weights, or of one that was cut smaller by a part. */
const IN_PART =
  /eagle|medusa|speculator|dflash|dspark|draft|lora|adapter|mmproj|tiny-?random|random|dummy|debug|tokenizer|mtp-only|prun|\bslim/;
const CUT_BY_PART = /(?:reap|ream)[-_.](?:\d{1,2}p?|0\.\d+)(?![\d.]*b)/;

/** Bits of a weight by a word that says them; the least counts. Figures: each format's own layout. */
const BITS: readonly (readonly [RegExp, number])[] = [
  [word("fp8(?:e4m3)?|w8a8\\w*|w8a16|int8|8-?bits?|q8|mxfp8|f8|w8"), 8],
  // A scale of 8 bits for 16 weights.
  [word("nvfp4\\w*|fp4"), 4.5],
  // A scale of 8 bits for 32 weights.
  [word("mxfp4\\w*"), 4.25],
  // A scale of 16 bits for 128 weights.
  [word("int4|w4a16\\w*|w4a8\\w*|w4|nf4|4-?bits?"), 4.125],
  [word("w4a4"), 4.125],
];

/** Formats of 4 bits, unless a word names others. */
const USUALLY_FOUR = word("awq|gptq|autoround|bnb|bitsandbytes");

/** Words that say only that weights are smaller than 16 bits, or leave open by how much. */
const SMALLER =
  /(?:int|fp)[2-8](?!\d)|quant|gguf|ggml|hqq|quip|aqlm|exl\d|eetq|onnx|openvino|mlx|mixed|compressed|modelopt|quark|torchao|qat|bitnet|marlin|prisma|(?<![a-z\d])(?:ct|i1|ov|sq|int2|fp6)(?![a-z\d])/;

const GGUF = /gguf/;

/** Formats of GGUF files: `Q4_K_M`, `IQ2_XXS`, `UD-Q3_K_XL`; a weight has at least so many bits. */
const GGUF_FORM = /(?<![a-z\d])(?:i?q|tq)([1-8])(?=_|$|[^a-z\d])/g;

/** Types of llama.cpp's files, which no other format has: `Q4_K_M`, `IQ4_XS`, `UD-Q4_K_XL`, `TQ1_0`. */
const GGUF_TYPE = word(
  "q[2-8]_[01]|q[2-8][-_]k(?:[-_](?:xxs|xs|s|m|l|xl))?|iq[1-4][-_](?:xxs|xs|s|m|nl)|tq[12]_0",
);

const isGguf = (name: string): boolean => GGUF.test(name) || GGUF_TYPE.test(name);

/** The folder of a model in the hub's cache. */
const IN_CACHE = /^.*\/models--([^/]+?)--([^/]+)(?:\/.*)?$/;

/** An id in small letters, or a folder by its last part, and what of it stands behind the organisation. */
function lettersOf(id: string) {
  const whole = id
    .trim()
    .toLowerCase()
    .replace(/(.)\/+$/, "$1")
    .replace(IN_CACHE, "$1/$2");
  return { whole, name: whole.slice(whole.lastIndexOf("/") + 1) };
}

/** Reads a model's id as people do. It never throws, and says nothing that isn't in the id. */
export function readModelName(id: string): ModelName {
  const { whole, name } = lettersOf(id);
  const kind = KINDS.find(([, words]) => words.test(whole))?.[0] ?? "chat";
  const billions = billionsIn(name);
  const bits = bitsIn(whole, name);
  return {
    kind,
    ...(billions === undefined ? {} : { billions: billions.written }),
    ...(bits === undefined ? {} : { bits }),
    gguf: isGguf(name),
  };
}

/**
 * The least that a model's weights take, by its id alone; `undefined` where it doesn't say. Names
 * round, so that the number of parameters is taken a few percent lower; embeddings and scales that
 * are kept in more bits are left out.
 */
export function namedWeights(id: string): NamedWeights | undefined {
  const { whole, name } = lettersOf(id);
  if (!isNamed(id) || IN_PART.test(name) || CUT_BY_PART.test(name)) return undefined;
  const bits = bitsIn(whole, name);
  const read = billionsIn(name);
  const own = ownSizes(name, read !== undefined);
  const billions = own?.least ?? read?.least;
  const isWritten = bits !== FULL || SAYS_FULL.test(name);
  const told = isWritten ? bits : (own?.bits ?? bits);
  if (billions === undefined || told === undefined) return undefined;
  const gb = Math.min((billions * told) / 8, writtenGB(name));
  const about = own?.billions ?? read?.written ?? billions;
  const isAbout = own?.billions === undefined && read?.ofExperts !== undefined;
  const isLeastAlone = own?.billions === undefined && read?.isAlone === false;
  const count = isAbout ? `${read.ofExperts}, about ${about}B` : `${about}B`;
  const from = own?.source === undefined ? "by its name" : `by its name and ${own.source}`;
  return {
    gb,
    gib: gb * GIB_PER_GB,
    ...(isLeastAlone ? {} : { aboutGiB: Math.max(gb, aboutGB(about, told)) * GIB_PER_GB }),
    source: `${count} parameters of ${told} bits, ${from}`,
  };
}

/**
 * About what weights take. Of those with fewer than eight bits some are kept in sixteen, the embeddings
 * above all: two fifths more of a small model, and a few GB of a large one, as the files of models with 8
 * to 235 billion parameters are larger.
 */
function aboutGB(billions: number, bits: number): number {
  const whole = (billions * bits) / 8;
  return bits < 8 ? whole + Math.min(whole * 0.4, 2.5) : whole;
}

/** A size of the files that a name tells itself, in GB, a little lower; without one, no limit. */
function writtenGB(name: string): number {
  const sizes = [...name.matchAll(/(?<![a-z\d.])(\d+(?:\.\d+)?)gb(?![a-z\d])/g)];
  return Math.min(...sizes.map(([, number = ""]) => Number(number) * (1 - ROUNDED.most)));
}

/** An id of the hub, with a form of a GGUF file behind it. */
const HUB_ID = /^[\w.-]+\/[\w.-]+(?::[\w.-]+)?$/;

/** A folder, which people call as its model is called. */
const FOLDER = /^(?:~|\.{1,2})?\/[^\s]*$/;

const isNamed = (id: string): boolean => HUB_ID.test(id.trim()) || FOLDER.test(id.trim());

/** Ids of the hub's first models, which have no organisation. */
const FIRST_MODELS =
  /^(?:gpt2(?:-\w+)?|distilgpt2|openai-gpt|(?:distil)?bert-.+|(?:distil|xlm-)?roberta-.+|albert-.+|t5-.+|xlnet-.+|ctrl)$/;

/** Says of a name that is neither an id of the hub nor a folder what to write; `undefined` for any other. */
export const withoutOrganization = (id: string): string | undefined =>
  /[/~]/.test(id) || FIRST_MODELS.test(id)
    ? undefined
    : `${id} is no id of the hub, which has an organisation in front (ORG/${id}), and no folder either: write the whole id, or the folder's path.`;

/** Numbers of parameters, each alone; active and effective ones (`A3B`, `E4B`) have a letter before. */
const SIZE = /(?<![a-z\d.]|\d[_])(?:(\d+)x)?(\d+(?:[._]\d+)?)([bmt])(?![a-z\d])/g;

/** A number of experts: `128E`. */
const EXPERTS = word("\\d+e");

/**
 * All experts share their attention: Mixtral's 8x7B are 46.7, its 8x22B 140.6, and 16x3.8B of
 * Phi-3.5-MoE are 42 (their model cards).
 */
const OF_EXPERTS = { about: 0.8, least: 0.79, leastOfMany: 0.65, few: 8 };

/** The part of all experts' parameters that a model has at least. */
const leastOfExperts = (experts: number): number =>
  experts > OF_EXPERTS.few ? OF_EXPERTS.leastOfMany : OF_EXPERTS.least;

/** A number is rounded to its last digit, and some more than that: 70B of 68.98, 120b of 116.8. */
const ROUNDED = { least: 0.035, most: 0.07 };

/** The billions of parameters in a name as they are written, and the least that they stand for. */
interface NamedBillions {
  /** About as many, where a name gives the number of one expert. */
  readonly written: number;
  readonly least: number;
  /** The experts as they are written: `8x7B`. */
  readonly ofExperts?: string;
  /** Whether it is the only number; of several the least counts. */
  readonly isAlone: boolean;
}

function billionsIn(name: string): NamedBillions | undefined {
  const all = [...name.matchAll(SIZE)].map(([, experts = "1", number = "", unit = ""]) => ({
    unit,
    experts: Number(experts),
    value: Number(number.replace("_", ".")),
    step: stepOf(number),
  }));
  // With the number of experts behind it, it is what one answer takes: 17B of `17B-128E`.
  if (EXPERTS.test(name)) return undefined;
  // A window of a million tokens, or training by trillions, stands beside the size.
  const billions = all.filter(({ unit }) => unit === "b");
  const counted = billions.length > 0 ? billions : all;
  const sizes = counted
    .filter(({ value }) => value > 0)
    .map(({ unit, experts, value, step }) => {
      const scale = { b: 1, m: 1e-3, t: 1e3 }[unit] ?? 1;
      const off = Math.min(ROUNDED.most, Math.max(ROUNDED.least, step / 2 / value));
      const least = value * scale * (1 - off);
      if (experts === 1) return { written: value * scale, least };
      return {
        written: Math.round(experts * value * scale * OF_EXPERTS.about),
        least: least * experts * leastOfExperts(experts),
        ofExperts: `${experts}x${value}${unit.toUpperCase()}`,
      };
    });
  const [smallest, another] = sizes.sort((a, b) => a.least - b.least);
  const isAlone = another === undefined || another.written === smallest?.written;
  return smallest && { ...smallest, isAlone };
}

/** The step to which a number is rounded: 10 of `120`, 1 of `27`, 0.1 of `1.7`. */
function stepOf(number: string): number {
  const [whole = "", decimals] = number.split(/[._]/);
  if (decimals !== undefined) return 10 ** -decimals.length;
  return 10 ** (whole.length - whole.replace(/0+$/, "").length);
}

/** Bits of a weight where no word says otherwise, and the words that say just these. */
const FULL = 16;
const SAYS_FULL = word("bf16|fp16|f16");

function bitsIn(whole: string, name: string): number | undefined {
  const forms = [...name.matchAll(GGUF_FORM)].map(([, digit = ""]) => Number(digit));
  // Such a repository has a file of each form; only one that is named tells the bits.
  if (isGguf(name)) return forms.length > 0 ? Math.min(...forms) : undefined;
  const counts = [...name.matchAll(/(?<![a-z\d.])(\d(?:\.\d+)?)-?(?:bits?|bpw)(?![a-z\d])/g)];
  const figures = [
    ...forms,
    ...counts.map(([, number = ""]) => Number(number)),
    ...BITS.flatMap(([words, bits]) => (words.test(name) ? [bits] : [])),
  ].filter((bits) => bits > 0);
  if (figures.length > 0) return Math.min(...figures);
  if (USUALLY_FOUR.test(name)) return 4.125;
  if (SMALLER.test(name) || /(?:mlx-community|unsloth-mlx)\//.test(whole)) return undefined;
  return FULL;
}

/** What a server says of the weights that it loads, beside their name. */
interface Loading {
  readonly id: string;
  /** Value of `--quantization`, if it is given. */
  readonly quantization?: unknown;
  /** GPUs that share the weights. */
  readonly gpus: number;
}

/** What vLLM makes of weights of 16 bits by `--quantization`, as a part of their size. */
const BY_QUANTIZATION = { of8: 1 / 2, of4: 1 / 4 };

/** A GPU's part of named weights, as `--quantization` makes them smaller. */
export function onEachGpu(
  { gb, gib, aboutGiB, source }: NamedWeights,
  { id, quantization: how, gpus }: Loading,
): NamedWeights {
  const isMade = how !== undefined && readModelName(id).bits === FULL;
  const part = !isMade ? 1 : BY_QUANTIZATION[/8/.test(String(how)) ? "of8" : "of4"];
  const made = isMade ? `, with --quantization ${String(how)}` : "";
  const each = gpus === 1 ? "" : `, on each of ${gpus} ranks`;
  return {
    gb: (gb * part) / gpus,
    gib: (gib * part) / gpus,
    ...(aboutGiB === undefined ? {} : { aboutGiB: (aboutGiB * part) / gpus }),
    source: `${source}${made}${each}`,
  };
}

/** Says that nothing tells what a model's weights take, and what to write. */
export const unweighedText = (id: string): string => {
  if (readModelName(id).gguf)
    return `nobody could weigh ${id}, which is GGUF by its name: name the file that vLLM loads (such as \`${id.replace(/:.*$/, "")}:Q4_K_M\`), or write \`model.weightsGB\`.`;
  const size = HUB_ID.test(id) ? " (`serving fetch --check` asks the hub for the size)" : "";
  return `nobody could weigh ${id}: write \`model.weightsGB\`${size}.`;
};
