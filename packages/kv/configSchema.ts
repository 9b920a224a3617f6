import { errorAt, type Fault } from "@local-serving/base/faults/fault";
import * as z from "zod";

/**
 * No published model comes near these; a larger figure is a broken file, and sums stay exact
 * integers below them.
 */
const MOST_LAYERS = 10_000;
const LARGEST_WIDTH = 1_000_000;

/** Number formats of a recurrent state. */
export const SSM_CACHE_DTYPES = ["auto", "float32", "float16", "bfloat16"] as const;

const widthRange = z.int().min(1).max(LARGEST_WIDTH);

/** Most fields are one of these, with words of their own. */
const optionalWidth = widthRange.nullish();
const optionalLayers = z.int().min(0).max(MOST_LAYERS).nullish();
const optionalCount = z.int().min(1).nullish();

/** A field that most configs lack. */
const field = <Schema extends z.ZodType>(schema: Schema, words: string) =>
  schema.nullish().describe(words);
const width = (words: string) => optionalWidth.describe(words);
const layerCount = (words: string) => optionalLayers.describe(words);
const count = (words: string) => optionalCount.describe(words);

/**
 * The fields of a model's config.json (its `text_config`, where it has one) that decide what the
 * engine caches. Names and fallbacks: vLLM 0.28,
 * `transformers_utils/model_arch_config_convertor.py`. Other fields are left alone.
 */
export const configSchema = z.looseObject({
  num_hidden_layers: z.int().min(1).max(MOST_LAYERS).describe("number of transformer layers"),
  num_attention_heads: widthRange.describe("number of query heads of an attention layer"),
  hidden_size: width("width of the residual stream; head_dim is derived from it"),
  head_dim: field(z.int().min(0).max(LARGEST_WIDTH), "width of one head; absent or 0: derived"),
  hidden_size_per_head: width("another name of head_dim"),

  num_key_value_heads: width("number of key/value heads of an attention layer"),
  num_kv_heads: width("another name of num_key_value_heads"),
  n_head_kv: width("another name of num_key_value_heads"),
  multi_query_group_num: width("another name of num_key_value_heads"),
  num_attention_groups: width("another name of num_key_value_heads"),
  multi_query: field(z.boolean(), "true: all query heads share one key/value head; false: none do"),
  new_decoder_architecture: field(z.boolean(), "true: multi_query is ignored"),

  global_head_dim: width("width of a head of the full-attention layers if others are sliding"),
  num_global_key_value_heads: width(
    "key/value heads of the full-attention layers; counts with attention_k_eq_v only",
  ),
  attention_k_eq_v: field(z.boolean(), "true: keys are the values; both are cached all the same"),

  v_head_dim: width("width of a value head if it differs from a key head's"),
  kv_lora_rank: width("width of the compressed key/value vector (MLA)"),
  qk_rope_head_dim: width("width of the rotary part that is cached with it (MLA)"),

  index_topk: width("tokens that sparse attention selects"),
  index_head_dim: width("width of the keys that it selects by"),
  index_topk_freq: count("every n-th layer selects, the others use its selection"),
  index_skip_topk_offset: field(z.int().min(0), "the first layers, which select all"),
  index_topk_pattern: field(z.string(), "one letter per layer: S uses another layer's selection"),

  indexer_kv_heads: width(
    "keys per token by which sparse attention selects, if it compresses them",
  ),
  indexer_head_dim: width("width of such a key"),
  indexer_compress_ratio: count("tokens whose keys become one"),
  ple_layer_ids: field(
    z.array(z.int().min(1)),
    "numbers of the layers that look up n-grams in a table, from 1",
  ),
  ple_conv_kernel_size: count("length of the convolution over the n-grams found"),
  ngram_size: count("tokens of an n-gram"),
  hc_count: count("parallel residual streams"),

  compress_ratios: field(
    z.array(z.int().min(0)).min(1),
    "tokens that each layer compresses into one; 0, 1: none",
  ),

  attn_type_list: field(
    z.array(z.int()).min(1),
    "kind of each layer in numbers; 1: full attention",
  ),
  layer_types: field(z.array(z.string()).min(1), "kind of each layer, first to last"),
  full_attention_interval: count("every n-th layer has full attention"),
  sliding_window: field(z.int().min(0), "window of the sliding-window layers, in tokens; 0: none"),
  sliding_window_pattern: field(
    z.union([z.int().min(1), z.string()]),
    "every n-th layer has full attention; as text it means nothing without layer_types",
  ),
  use_sliding_window: field(z.boolean(), "false: sliding_window is ignored"),
  max_window_layers: layerCount("layers before this one have full attention"),

  linear_num_key_heads: width("key heads of a linear-attention layer"),
  linear_num_value_heads: width("value heads of a linear-attention layer"),
  linear_key_head_dim: width("width of a linear-attention key head"),
  linear_value_head_dim: width("width of a linear-attention value head"),
  linear_conv_kernel_dim: width("length of the causal convolution of a linear layer"),
  mamba_ssm_dtype: field(
    z.enum(SSM_CACHE_DTYPES),
    "number format of the recurrent state of a linear layer; absent: as the model's",
  ),

  hybrid_override_pattern: field(
    z.string().min(1),
    "one letter per layer: M state-space, * attention, - and E without a cache",
  ),
  layers_block_type: field(z.array(z.string()).min(1), "the same in words"),
  mamba_num_heads: width("heads of a state-space layer"),
  mamba_head_dim: width("width of a state-space head"),
  ssm_state_size: width("size of a state-space head's state for each of its channels"),
  n_groups: width("groups of heads that share their input of a state-space layer"),
  conv_kernel: width("length of the causal convolution of a state-space layer"),
  mamba_ssm_cache_dtype: field(
    z.enum(SSM_CACHE_DTYPES),
    "number format of a state-space layer's state",
  ),

  mtp_num_hidden_layers: layerCount("layers of the multi-token-prediction module"),
  num_nextn_predict_layers: layerCount("another name of mtp_num_hidden_layers"),
  max_position_embeddings: count("context window, in tokens"),
});

export type ConfigFields = z.output<typeof configSchema>;

/** The fault of a model whose cache can't be planned; `field` is the field that shows it. */
export function unknownArchitecture(field: string, why: string): Fault {
  const message = `Unknown architecture: ${why} Its KV cache can't be planned before the engine has measured it.`;
  return errorAt(field, "unknown_architecture", message);
}

/** The fault of a list that has not one entry for each layer. */
export const wrongCount = (field: string, listed: number, layers: number): Fault =>
  errorAt(
    field,
    "impossible_value",
    `This lists ${listed} layers, but num_hidden_layers is ${layers}.`,
  );

/** The fault of a field that is needed and absent. */
export const missingField = (path: string, why: string): Fault =>
  errorAt(path, "missing_key", `This field is required. ${why}`);
