import { defined } from "@local-serving/base/faults/defined";
import { hundredths } from "@local-serving/base/units/memory";

/**
 * What an engine's log says of its memory; absent where it has no such line. Of repeated lines the
 * last counts.
 */
export interface EngineLog {
  /** `Model loading took X GiB`: the weights. */
  readonly weightsGiB?: number;
  /** `Actual usage is ...`: what it holds beside its cache, all its parts together. */
  readonly takenGiB?: number;
  /** `Available KV cache memory: X GiB`; may be negative. */
  readonly availableKvGiB?: number;
  /** `GPU KV cache size: N tokens`; where only the next line is left, what its two figures make. */
  readonly kvTokens?: number;
  /** `Maximum concurrency for L tokens per request: C.CCx`: L, the window. */
  readonly maxModelLen?: number;
  readonly maxConcurrency?: number;
  /** `Setting attention block size to N tokens`: the block of a hybrid model. */
  readonly blockSize?: number;
  /** `Add N padding layers`. */
  readonly paddingLayers?: number;
  /** The startup summary's hint `--kv-cache-memory=N`, in bytes. */
  readonly kvCacheMemoryBytes?: number;
  /** `Auto-fit max_model_len: reduced from A to B`: B. */
  readonly autoFitMaxModelLen?: number;
  /** Why the engine did not start, where it says so. */
  readonly refusal?: EngineRefusal;
}

/** A refusal of the engine that has to do with memory, with the figures of its message. */
export type EngineRefusal =
  | {
      readonly kind: "admission";
      readonly freeGiB: number;
      readonly totalGiB: number;
      readonly utilization: number;
      readonly wantedGiB: number;
    }
  | { readonly kind: "no-kv-room" }
  | {
      readonly kind: "request-does-not-fit";
      readonly maxModelLen: number;
      readonly neededGiB: number;
      readonly availableGiB: number;
      readonly largestMaxModelLen?: number;
    }
  | { readonly kind: "too-many-sequences"; readonly maxNumSeqs: number; readonly blocks: number }
  | { readonly kind: "profiling-disturbed" };

/** Every figure of a line by its name; each pattern has a named group for it. */
const count = (name: string) => `(?<${name}>[\\d,]+)`;
const gib = (name: string) => `(?<${name}>-?[\\d.]+) GiB`;

const LINES = [
  `Model loading took ${gib("weightsGiB")}`,
  `Available KV cache memory: ${gib("availableKvGiB")}`,
  // The line begins with `GPU`; from vLLM 0.33 on with `GPU + host` where the cache is offloaded.
  `KV cache size: ${count("kvTokens")} tokens`,
  `Setting attention block size to ${count("blockSize")} tokens`,
  `Add ${count("paddingLayers")} padding layers`,
  `--kv-cache-memory(?:-bytes)?=${count("kvCacheMemoryBytes")}`,
  `Auto-fit max_model_len: reduced from [\\d,]+ to ${count("autoFitMaxModelLen")}`,
].map((line) => new RegExp(line, "g"));

/** A line of its own up to vLLM 0.27, joined to the one above by a comma from 0.28 on. */
const CONCURRENCY = new RegExp(
  `Maximum concurrency for ${count("maxModelLen")} tokens per request: (?<maxConcurrency>[\\d.]+)x`,
  "g",
);

/** Reads what a log of vLLM says of memory; text without any such line gives an empty record. */
export function readEngineLog(text: string): EngineLog {
  const concurrency = last(text, CONCURRENCY);
  const { maxModelLen = 0, maxConcurrency = 0 } = figuresOf(concurrency);
  const refusal = refusalIn(text);
  return {
    ...(concurrency === undefined
      ? {}
      : { maxModelLen, maxConcurrency, kvTokens: Math.floor(maxModelLen * maxConcurrency) }),
    ...Object.fromEntries(LINES.flatMap((line) => Object.entries(figuresOf(last(text, line))))),
    ...defined({ refusal, takenGiB: takenIn(text) }),
  };
}

/** Weights and what isn't torch's apart up to vLLM 0.27, as one figure (`consumed memory`) later. */
const ACTUAL_USAGE = /Actual usage is (?<parts>.*? GiB for CUDAGraph memory)/gs;

/** The sum of what the last such line names. */
function takenIn(text: string): number | undefined {
  const { parts } = last(text, ACTUAL_USAGE)?.groups ?? {};
  if (parts === undefined) return undefined;
  const each = [...parts.matchAll(/(-?[\d.]+) GiB\s+for/g)].map(([, gib]) => Number(gib));
  return hundredths(each.reduce((sum, gib) => sum + gib, 0));
}

const SAYS_MEMORY =
  /Model loading took|KV cache (?:size|memory:|is needed)|Maximum concurrency for|Setting attention block size|padding layers|--kv-cache-memory|Auto-fit max_model_len|auto-fit max_model_len|cache blocks|Free memory on device|Error in memory profiling/;

/**
 * Whether `readEngineLog` looks at a line. Only such lines of a long log have to be kept. Lines
 * that come every ten seconds (`GPU KV cache usage`) are not among them, nor are prompts, which may
 * say anything.
 */
export const saysMemory = (line: string): boolean =>
  SAYS_MEMORY.test(line) && !line.includes("Received request ");

/** What each refusal says; its figures have the names that `EngineRefusal` gives them. */
const REFUSALS: Readonly<Record<EngineRefusal["kind"], RegExp>> = {
  admission:
    /Free memory on device \S+ \((?<freeGiB>[\d.]+)\/(?<totalGiB>[\d.]+) GiB\) on startup is less than desired GPU memory utilization \((?<utilization>[\d.]+), (?<wantedGiB>[\d.]+) GiB\)/g,
  "no-kv-room": /No available memory for the cache blocks|Cannot auto-fit max_model_len/g,
  "request-does-not-fit": new RegExp(
    `To serve at least one request with the model's max seq len \\(${count("maxModelLen")}\\), \\(?${gib("neededGiB")} KV cache is needed.*?available KV cache memory \\(${gib("availableGiB")}\\)(?:.*?estimated maximum model length is ${count("largestMaxModelLen")})?`,
    "gs",
  ),
  "too-many-sequences": new RegExp(
    `max_num_seqs \\(${count("maxNumSeqs")}\\) exceeds available Mamba cache blocks \\(${count("blocks")}\\)`,
    "g",
  ),
  "profiling-disturbed": /Error in memory profiling\. Initial free memory/g,
};

/** The last refusal of the log, unless the engine has started after it. */
function refusalIn(text: string): EngineRefusal | undefined {
  const found = Object.entries(REFUSALS).flatMap(([kind, pattern]) => {
    const match = last(text, pattern);
    return match === undefined ? [] : [{ kind, match }];
  });
  const latest = found.sort((a, b) => a.match.index - b.match.index).at(-1);
  const started = last(text, CONCURRENCY)?.index ?? -1;
  if (latest === undefined || started > latest.match.index) return undefined;
  // The groups of each pattern are the figures of its kind.
  return { kind: latest.kind, ...figuresOf(latest.match) } as EngineRefusal;
}

const last = (text: string, pattern: RegExp): RegExpExecArray | undefined =>
  [...text.matchAll(pattern)].at(-1);

/** The figures of a line by name, without those that it leaves out. */
function figuresOf(match: RegExpExecArray | undefined): Record<string, number> {
  const groups = Object.entries<string | undefined>(match?.groups ?? {});
  return Object.fromEntries(
    groups.flatMap(([name, text]) =>
      text === undefined ? [] : [[name, Number(text.replaceAll(",", ""))]],
    ),
  );
}
