import { errorAt, type Fault } from "@local-serving/base/faults/fault";
import { COMPRESSED_VECTOR } from "./compressedLayers";
import { type ConfigFields, missingField, unknownArchitecture } from "./configSchema";

/**
 * What an attention layer caches of one token: a key and a value for each head, one compressed
 * vector (MLA), or one vector packed with its scales, in the format that sparse attention needs.
 */
export type AttentionShape =
  | { readonly kind: "heads"; readonly kvHeads: number; readonly headDim: number }
  | { readonly kind: "latent"; readonly width: number }
  | { readonly kind: "packed"; readonly bytes: number };

/**
 * Bytes of a packed vector of 512 numbers in fp8, 4 scales and 64 numbers in bf16 (vLLM 0.30
 * `mla_attention.py`).
 */
const PACKED_LATENT = 656;

/**
 * Returns what the attention layers cache, and which fields are missing or contradict each other.
 */
export function attentionShape(config: ConfigFields): {
  attention: AttentionShape;
  faults: Fault[];
} {
  const faults: Fault[] = [];
  if (config.compress_ratios != null)
    return { attention: { kind: "packed", bytes: COMPRESSED_VECTOR }, faults };
  if (config.kv_lora_rank != null) {
    if (config.qk_rope_head_dim == null)
      faults.push(
        missingField("qk_rope_head_dim", "With kv_lora_rank, each token also caches this width."),
      );
    const width = config.kv_lora_rank + (config.qk_rope_head_dim ?? 0);
    const attention: AttentionShape =
      config.index_topk == null
        ? { kind: "latent", width }
        : { kind: "packed", bytes: PACKED_LATENT };
    return { attention, faults };
  }
  const kvHeads = keyValueHeads(config);
  if (config.num_attention_heads % kvHeads !== 0)
    faults.push(
      errorAt(
        "num_attention_heads",
        "impossible_value",
        `${config.num_attention_heads} query heads can't share ${kvHeads} key/value heads evenly.`,
      ),
    );
  const headDim = config.head_dim || config.hidden_size_per_head;
  if (config.v_head_dim && config.v_head_dim !== headDim)
    faults.push(unknownArchitecture("v_head_dim", "keys and values have different widths."));
  if (headDim) return { attention: { kind: "heads", kvHeads, headDim }, faults };
  if (config.hidden_size == null) {
    faults.push(
      missingField("head_dim", "Without this field, hidden_size is needed to derive it."),
    );
  } else if (config.hidden_size % config.num_attention_heads !== 0) {
    const text = `hidden_size ${config.hidden_size} is not a multiple of ${config.num_attention_heads} heads, so it can't be derived.`;
    faults.push(missingField("head_dim", text));
  }
  const derived = Math.floor((config.hidden_size ?? 0) / config.num_attention_heads);
  return { attention: { kind: "heads", kvHeads, headDim: derived }, faults };
}

/**
 * The heads of the full-attention layers, where they differ from those of the sliding ones
 * (`attentionShape`); `null` where they don't. Source: vLLM 0.30 `transformers_utils/configs`.
 */
export function fullAttentionShape(config: ConfigFields): AttentionShape | null {
  const common = attentionShape(config).attention;
  const heads = config.attention_k_eq_v === true ? config.num_global_key_value_heads : null;
  if (common.kind !== "heads" || (config.global_head_dim == null && heads == null)) return null;
  return {
    kind: "heads",
    kvHeads: heads ?? common.kvHeads,
    headDim: config.global_head_dim ?? common.headDim,
  };
}

/** The aliases in the order in which vLLM tries them; without any, every query head has its own. */
function keyValueHeads(config: ConfigFields): number {
  if (config.multi_query != null && config.new_decoder_architecture !== true)
    return config.multi_query ? 1 : config.num_attention_heads;
  return (
    config.n_head_kv ??
    config.num_kv_heads ??
    config.num_key_value_heads ??
    config.multi_query_group_num ??
    config.num_attention_groups ??
    config.num_attention_heads
  );
}
