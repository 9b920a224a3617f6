import { defined } from "../../faults/defined";

/** What an engine's log says of its memory; absent where it has no such line. Of repeated lines the last counts. */
export interface EngineLog {
  /** `Model loading took X GiB`: the weights. */
  readonly weightsGiB?: number;
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

const COUNT = "([\\d,]+)";
const GIB = "(-?[\\d.]+) GiB";

const LINES = {
  weightsGiB: new RegExp(`Model loading took ${GIB}`, "g"),
  availableKvGiB: new RegExp(`Available KV cache memory: ${GIB}`, "g"),
  // Of a `GPU`, from vLLM 0.33 on of a `GPU + host` where it offloads.
  kvTokens: new RegExp(`KV cache size: ${COUNT} tokens`, "g"),
  blockSize: new RegExp(`Setting attention block size to ${COUNT} tokens`, "g"),
  paddingLayers: new RegExp(`Add ${COUNT} padding layers`, "g"),
  kvCacheMemoryBytes: new RegExp(`--kv-cache-memory(?:-bytes)?=${COUNT}`, "g"),
  autoFitMaxModelLen: new RegExp(`Auto-fit max_model_len: reduced from ${COUNT} to ${COUNT}`, "g"),
} as const;

/** A line of its own up to vLLM 0.27, joined to the one above by a comma from 0.28 on. */
const CONCURRENCY = new RegExp(`Maximum concurrency for ${COUNT} tokens per request: ([\\d.]+)x`, "g");

/** Reads what a log of vLLM says of memory; text without any such line gives an empty record. */
export function readEngineLog(text: string): EngineLog {
  const figures = Object.fromEntries(
    Object.entries(LINES).flatMap(([name, line]) => {
      const found = last(text, line)?.at(-1);
      return found === undefined ? [] : [[name, numberOf(found)]];
    }),
  );
  const concurrency = last(text, CONCURRENCY);
  const refusal = refusalIn(text);
  const [maxModelLen, maxConcurrency] = [numberOf(concurrency?.[1]), numberOf(concurrency?.[2])];
  return {
    ...(concurrency === undefined
      ? {}
      : { maxModelLen, maxConcurrency, kvTokens: Math.floor(maxModelLen * maxConcurrency) }),
    ...figures,
    ...defined({ refusal }),
  };
}

const SAYS_MEMORY =
  /Model loading took|KV cache (?:size|memory:|is needed)|Maximum concurrency for|Setting attention block size|padding layers|--kv-cache-memory|Auto-fit max_model_len|auto-fit max_model_len|cache blocks|Free memory on device|Error in memory profiling/;

/**
 * Whether `readEngineLog` looks at a line, so that nothing else of a long log has to be kept: neither what is logged every
 * ten seconds (`GPU KV cache usage`), nor a prompt, which may say anything.
 */
export const saysMemory = (line: string): boolean => SAYS_MEMORY.test(line) && !line.includes("Received request ");

const ADMISSION =
  /Free memory on device \S+ \(([\d.]+)\/([\d.]+) GiB\) on startup is less than desired GPU memory utilization \(([\d.]+), ([\d.]+) GiB\)/g;
const DOES_NOT_FIT = new RegExp(
  `To serve at least one request with the model's max seq len \\(${COUNT}\\), \\(?${GIB} KV cache is needed.*?available KV cache memory \\(${GIB}\\)(?:.*?estimated maximum model length is ${COUNT})?`,
  "gs",
);
const TOO_MANY = new RegExp(`max_num_seqs \\(${COUNT}\\) exceeds available Mamba cache blocks \\(${COUNT}\\)`, "g");

/** The last refusal of the log, unless the engine has started after it. */
function refusalIn(text: string): EngineRefusal | undefined {
  const found = [
    refusal(text, ADMISSION, ([, free, total, utilization, wanted]) => ({
      kind: "admission",
      freeGiB: numberOf(free),
      totalGiB: numberOf(total),
      utilization: numberOf(utilization),
      wantedGiB: numberOf(wanted),
    })),
    refusal(text, /No available memory for the cache blocks|Cannot auto-fit max_model_len/g, () => ({
      kind: "no-kv-room",
    })),
    refusal(text, DOES_NOT_FIT, ([, length, needed, available, largest]) => ({
      kind: "request-does-not-fit",
      maxModelLen: numberOf(length),
      neededGiB: numberOf(needed),
      availableGiB: numberOf(available),
      ...(largest === undefined ? {} : { largestMaxModelLen: numberOf(largest) }),
    })),
    refusal(text, TOO_MANY, ([, sequences, blocks]) => ({
      kind: "too-many-sequences",
      maxNumSeqs: numberOf(sequences),
      blocks: numberOf(blocks),
    })),
    refusal(text, /Error in memory profiling\. Initial free memory/g, () => ({ kind: "profiling-disturbed" })),
  ].filter((each) => each !== undefined);
  const latest = found.sort((a, b) => a.at - b.at).at(-1);
  const started = last(text, CONCURRENCY)?.index ?? -1;
  return latest === undefined || started > latest.at ? undefined : latest.refusal;
}

function refusal(
  text: string,
  pattern: RegExp,
  read: (match: RegExpExecArray) => EngineRefusal,
): { at: number; refusal: EngineRefusal } | undefined {
  const match = last(text, pattern);
  return match === undefined ? undefined : { at: match.index, refusal: read(match) };
}

const last = (text: string, pattern: RegExp): RegExpExecArray | undefined => [...text.matchAll(pattern)].at(-1);

const numberOf = (text: string | undefined): number => Number((text ?? "").replaceAll(",", ""));
