import type { Fault } from "@local-serving/base/faults/fault";
import { COMPRESSED_INDEX_FIELDS } from "./compressedIndex";
import { COMPRESSED_FIELDS } from "./compressedLayers";
import { unknownArchitecture } from "./configSchema";
import { STATE_SPACE_FIELDS, tellsStateSpace } from "./recurrentState";
import { INDEX_FIELDS } from "./sparseIndex";

/**
 * Fields which say that a model caches something else than the layers planned here, each with what
 * that is. A model that has one is unknown: a plan that ignored the field would be wrong by a large
 * factor.
 */
const MARKS: readonly { readonly field: RegExp; readonly says: string }[] = [
  {
    field: /^(mamba_(?!ssm_dtype$)|ssm_|rwkv|lru_|recurrent_|time_step_)/,
    says: "state-space layers",
  },
  {
    field: /^(conv_L_cache|conv_dim_cache|short_conv|ple_layer_ids$)/,
    says: "short-convolution layers",
  },
  {
    field: /^(linear_attn_config|lightning_|kda_|layer_group_size$)/,
    says: "another kind of linear attention",
  },
  {
    field:
      /^(hybrid_(override|layer)_pattern|layers_block_type|(layer_)?block_types?|attn_type_list|attn_layer_(period|indices|offset)|full_attn_idxs)$/,
    says: "another way to mix layers",
  },
  {
    field: /^(block_configs|per_layer_config|is_heterogeneous)$/,
    says: "layers that differ from each other",
  },
  { field: /^attention_chunk_size$/, says: "another kind of windowed attention" },
  {
    field: /^(?!use_sliding_window$|max_window_layers$|_?sliding_window(_pattern)?$).*window/,
    says: "another kind of windowed attention",
  },
  { field: /^param_sink_number$/, says: "layers that cache more than a request's tokens" },
  { field: /^(loop_num|num_layers_per_stack)$/, says: "layers that run more than once" },
  {
    field:
      /^(index_topk|index_head_dim|index_kpool|indexer_.*|compress_ratios|sparse_attention_config)$/,
    says: "sparse attention",
  },
  {
    field: /^(num_kv_shared_layers|kv_shared_layers|cla_share_factor)$/,
    says: "layers that share a cache",
  },
  {
    field:
      /^(global_head_dim|num_global_key_value_heads|swa_|attention_other_setting|local_layer_ids)/,
    says: "attention layers whose heads differ from each other",
  },
  { field: /^(cross_attention_layers|is_encoder_decoder)$/, says: "cross attention" },
  { field: /^attn_config$/, says: "attention settings in a form of its own" },
];

/**
 * What a config says about caches that are not planned here: one `unknown_architecture` fault for
 * each field.
 */
export function unplannedCaches(fields: Readonly<Record<string, unknown>>): Fault[] {
  const planned = plannedFields(fields);
  return Object.entries(fields).flatMap(([field, value]) => {
    const mark = MARKS.find((each) => each.field.test(field));
    if (mark === undefined || planned.includes(field) || saysNothing(value)) return [];
    // Layers in numbers: 1 is full attention, every other number another kind.
    if (field === "attn_type_list" && Array.isArray(value) && value.every((kind) => kind === 1))
      return [];
    return [unknownArchitecture(field, `This field means ${mark.says}, which can't be planned.`)];
  });
}

/** The marked fields that are part of a cache that is planned. */
function plannedFields(fields: Readonly<Record<string, unknown>>): readonly string[] {
  const mixed = ["global_head_dim", "num_global_key_value_heads"];
  if (tellsStateSpace(fields)) return [...mixed, ...STATE_SPACE_FIELDS];
  if (fields.compress_ratios != null) return [...mixed, ...COMPRESSED_FIELDS];
  if (fields.indexer_compress_ratio != null) return [...mixed, ...COMPRESSED_INDEX_FIELDS];
  return fields.kv_lora_rank != null ? [...mixed, ...INDEX_FIELDS] : mixed;
}

function saysNothing(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === 0 || value === "")
    return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
