import { errorAt, type Fault } from "@local-serving/base/faults/fault";
import { type CacheKind, type PackedCaches, packed, SMALLEST_BLOCK } from "./cacheGroups";
import { type ConfigFields, missingField, unknownArchitecture } from "./configSchema";

/**
 * Sparse attention whose index keeps one key of several tokens, in the full-attention layers of a
 * hybrid.
 */
export interface CompressedIndex {
  /** Tokens whose keys become one. */
  readonly tokensPerKey: number;
  readonly keyWidth: number;
  /** Layers that look up n-grams in a table, and numbers that each keeps of its last inputs. */
  readonly ngrams: { readonly layers: number; readonly channels: number; readonly inputs: number };
}

/** Fields that describe such an index, and the table beside it. */
export const COMPRESSED_INDEX_FIELDS: readonly string[] = [
  "indexer_n_heads",
  "indexer_kv_heads",
  "indexer_head_dim",
  "indexer_budget",
  "indexer_compress_ratio",
  "ple_layer_ids",
];

/** Where the config is silent (vLLM 0.30, its config class). */
const NGRAM_DEFAULTS = { streams: 4, kernel: 4, size: 3 } as const;

/** Keys and the inputs of n-grams are cached in bf16. */
const NUMBER_BYTES = 2;

/** Reads such an index from the config, if it has one. */
export function compressedIndex(config: ConfigFields): {
  index?: CompressedIndex;
  faults: Fault[];
} {
  const { indexer_compress_ratio: ratio, indexer_head_dim: keyWidth } = config;
  if (ratio == null) return { faults: [] };
  const faults: Fault[] = [];
  if (keyWidth == null)
    faults.push(missingField("indexer_head_dim", "Its index caches keys of this width."));
  if (config.indexer_kv_heads !== 1)
    faults.push(
      errorAt(
        "indexer_kv_heads",
        "impossible_value",
        "vLLM selects by one key per token: write 1.",
      ),
    );
  if (SMALLEST_BLOCK % ratio !== 0)
    faults.push(
      unknownArchitecture("indexer_compress_ratio", `${ratio} tokens don't divide a block.`),
    );
  const { streams, kernel, size } = NGRAM_DEFAULTS;
  const ngrams = {
    layers: new Set(config.ple_layer_ids).size,
    channels: (config.hidden_size ?? 0) * (config.hc_count ?? streams),
    inputs: ((config.ple_conv_kernel_size ?? kernel) - 1) * (config.ngram_size ?? size),
  };
  return { index: { tokensPerKey: ratio, keyWidth: keyWidth ?? 0, ngrams }, faults };
}

/**
 * Bytes of one n-gram layer's state; it is not divided among devices, and remembers one more input
 * for each draft. vLLM sizes its blocks by it even where no layer has one.
 */
export const ngramStateBytes = ({ ngrams }: CompressedIndex, drafts: number): number =>
  ngrams.channels * (ngrams.inputs + drafts) * NUMBER_BYTES;

/** Tokens whose keys wait to become one: those of a step with its drafts, in whole keys. */
export const waitingTokens = ({ tokensPerKey }: CompressedIndex, drafts: number): number =>
  tokensPerKey * Math.ceil((tokensPerKey + drafts) / tokensPerKey);

/** What a request holds beside its keys and values. */
interface RequestStates {
  /** Blocks that a request holds for each group of states. */
  readonly stateBlocks: number;
  /** Tokens that are drafted at once. */
  readonly drafts: number;
}

/**
 * Such a model's caches, as vLLM packs them. Sources: vLLM 0.30 `qsa_cache.py`, `ple_layer.py`.
 *
 * @param page tokens of a block, and bytes that a layer's keys and values, or its state, take for
 * it
 * @param layers full-attention layers with those of the draft module, and linear ones
 */
export function indexedCaches(
  index: CompressedIndex,
  page: { readonly tokens: number; readonly bytes: number },
  layers: { readonly full: number; readonly linear: number },
  { stateBlocks, drafts }: RequestStates,
): PackedCaches {
  const keys = (tokens: number) => tokens * index.keyWidth * NUMBER_BYTES;
  /** `counted` of the layers are the model's own. */
  const states = (
    kind: CacheKind,
    pages: { readonly bytes: number; readonly layers: number },
    counted: number,
    blockSize = page.tokens,
  ) => ({
    group: { ...kind, blockSize, layers: counted },
    pages: [pages],
    areStates: true,
  });
  const recurrent = { kind: "linear", blocks: stateBlocks } as const;
  const waiting = waitingTokens(index, drafts);
  return packed([
    {
      group: { kind: "full", blockSize: page.tokens, layers: layers.full },
      pages: [page.bytes, keys(page.tokens / index.tokensPerKey)].map((bytes) => ({
        bytes,
        layers: layers.full,
      })),
    },
    states(recurrent, { bytes: page.bytes, layers: layers.linear }, layers.linear),
    states(recurrent, { bytes: page.bytes, layers: index.ngrams.layers }, 0),
    states(
      { kind: "linear", blocks: 1 },
      { bytes: keys(waiting), layers: layers.full },
      0,
      waiting,
    ),
  ]);
}
