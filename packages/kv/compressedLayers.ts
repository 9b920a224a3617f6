import type { Fault } from "@local-serving/base/faults/fault";
import { type PackedCaches, packed } from "./cacheGroups";
import { type ConfigFields, missingField, unknownArchitecture, wrongCount } from "./configSchema";
import { keyBytes } from "./sparseIndex";

/**
 * A model that caches a window of tokens in each layer, and in most of them compressed tokens
 * beside it.
 */
export interface CompressedLayers {
  /** Window of each layer, in tokens. */
  readonly window: number;
  /** Layers that make one cached vector of 4 tokens and select among these by an index. */
  readonly byFour: number;
  /** Layers that make one of 128 tokens. */
  readonly byMany: number;
}

/** Fields that describe such layers. */
export const COMPRESSED_FIELDS: readonly string[] = [
  "compress_ratios",
  "index_topk",
  "index_head_dim",
];

/** What vLLM has kernels for (0.30 `compressor.py`). */
const FOUR = 4;
const MANY = 128;
const HEAD_DIM = 512;
const INDEX_DIM = 128;

/**
 * Bytes of a cached vector: 448 numbers in fp8, 64 in bf16 and 8 scales (vLLM 0.30
 * `sparse_swa.py`).
 */
export const COMPRESSED_VECTOR = 584;
/** Pages are a multiple of this. */
const ALIGNMENT = 576;
/** Tokens of the engine's block. */
export const COMPRESSED_BLOCK = 256;
/** Tokens of a block of the windows, and of the tokens that are still to be compressed. */
const BLOCKS = { window: 64, byFour: 4, byMany: 8 } as const;
/**
 * A value and a score in float32 for each number; those that make one of 4 tokens overlap, so they
 * keep twice as many.
 */
const STATE_NUMBER = 2 * 4;
const OVERLAP = 2;

/** Reads compressed layers from the config, if it has any. */
export function compressedLayers(config: ConfigFields): {
  layers?: CompressedLayers;
  faults: Fault[];
} {
  if (config.compress_ratios == null) return { faults: [] };
  const ratios = config.compress_ratios.slice(0, config.num_hidden_layers);
  const faults: Fault[] = [];
  const unplanned = (field: string, why: string) => faults.push(unknownArchitecture(field, why));
  if (ratios.length < config.num_hidden_layers)
    faults.push(wrongCount("compress_ratios", ratios.length, config.num_hidden_layers));
  const stranger = ratios.findIndex((ratio) => ratio > 1 && ratio !== FOUR && ratio !== MANY);
  if (stranger >= 0)
    unplanned(`compress_ratios.${stranger}`, `it is not one of 0, 1, ${FOUR}, ${MANY}.`);
  if (!config.sliding_window)
    faults.push(missingField("sliding_window", "Each layer caches a window of this many tokens."));
  if (config.head_dim !== HEAD_DIM)
    unplanned("head_dim", `vLLM only compresses heads of width ${HEAD_DIM}.`);
  if (config.index_head_dim !== INDEX_DIM)
    unplanned("index_head_dim", `vLLM only compresses index keys of width ${INDEX_DIM}.`);
  const count = (ratio: number) => ratios.filter((each) => each === ratio).length;
  if (count(FOUR) === 0) unplanned("compress_ratios", `no layer has a ratio of ${FOUR}.`);
  const layers = { window: config.sliding_window ?? 0, byFour: count(FOUR), byMany: count(MANY) };
  return { layers, faults };
}

/**
 * Such a model's caches, as vLLM packs them.
 *
 * @param layers layers with a window, draft layers included
 * @param tokensUnderWay tokens of the batches that are scheduled and not yet settled
 */
export function compressedCaches(
  { window, byFour, byMany }: CompressedLayers,
  layers: number,
  tokensUnderWay: number,
): PackedCaches {
  const page = (bytes: number, count: number) => ({
    bytes: Math.ceil(bytes / ALIGNMENT) * ALIGNMENT,
    layers: count,
  });
  const state = (tokens: number, width: number) => tokens * width * STATE_NUMBER;
  const vectors = (ratio: number, bytes: number) => (COMPRESSED_BLOCK / ratio) * bytes;
  const sliding = (tokens: number) =>
    ({ kind: "sliding", mostTokens: tokens - 1 + tokensUnderWay }) as const;
  return packed([
    {
      group: { ...sliding(window), blockSize: BLOCKS.window, layers },
      pages: [page(BLOCKS.window * COMPRESSED_VECTOR, layers)],
    },
    {
      group: { kind: "full", blockSize: COMPRESSED_BLOCK, layers: byFour + byMany },
      pages: [
        page(vectors(FOUR, COMPRESSED_VECTOR), byFour),
        page(vectors(MANY, COMPRESSED_VECTOR), byMany),
        page(vectors(FOUR, keyBytes(INDEX_DIM)), byFour),
      ].filter((each) => each.layers > 0),
    },
    {
      group: { ...sliding(OVERLAP * FOUR), blockSize: BLOCKS.byFour, layers: 0 },
      pages: [HEAD_DIM, INDEX_DIM].map((width) =>
        page(state(BLOCKS.byFour, OVERLAP * width), byFour),
      ),
    },
    {
      group: { ...sliding(MANY), blockSize: BLOCKS.byMany, layers: 0 },
      pages: [page(state(BLOCKS.byMany, HEAD_DIM), byMany)],
    },
  ]);
}
