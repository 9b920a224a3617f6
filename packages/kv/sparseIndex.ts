import type { Fault } from "@local-serving/base/faults/fault";
import { type ConfigFields, missingField, wrongCount } from "./configSchema";

/**
 * The keys by which sparse attention selects tokens; they are cached beside the tokens themselves.
 */
export interface SparseIndex {
  /** Layers that select; the others use the selection of one before them and cache no keys. */
  readonly layers: number;
  readonly bytesPerToken: number;
}

/**
 * Fields that say how sparse attention over compressed vectors (MLA) selects, and those that change
 * nothing of it.
 */
export const INDEX_FIELDS: readonly string[] = [
  "index_topk",
  "index_head_dim",
  "indexer_types",
  "indexer_rope_interleave",
];

/** Numbers in fp8 that share a scale of four bytes (vLLM 0.30, class Indexer). */
const NUMBERS_OF_A_SCALE = 128;
const SCALE_BYTES = 4;

/** What keys of so many numbers take in fp8 with their scales. */
export const keyBytes = (width: number): number =>
  width + Math.floor(width / NUMBERS_OF_A_SCALE) * SCALE_BYTES;

/** Layers at the start that all select, where the config names no number (vLLM 0.30). */
const DEFAULT_OFFSET = 2;

/** Reads sparse attention from the config, if it has any. */
export function sparseIndex(config: ConfigFields): { index?: SparseIndex; faults: Fault[] } {
  if (config.index_topk == null || config.kv_lora_rank == null) return { faults: [] };
  const faults: Fault[] = [];
  if (config.index_head_dim == null)
    faults.push(
      missingField("index_head_dim", "With index_topk its keys are cached beside each token."),
    );
  const layers = config.num_hidden_layers;
  const pattern = config.index_topk_pattern;
  if (pattern != null && pattern.length !== layers)
    faults.push(wrongCount("index_topk_pattern", pattern.length, layers));
  const selects = (layer: number) =>
    pattern == null
      ? Math.max(layer - (config.index_skip_topk_offset ?? DEFAULT_OFFSET) + 1, 0) %
          (config.index_topk_freq ?? 1) ===
        0
      : pattern[layer] !== "S";
  const count = Array.from({ length: layers }, (_, layer) => layer).filter(selects).length;
  return { index: { layers: count, bytesPerToken: keyBytes(config.index_head_dim ?? 0) }, faults };
}
