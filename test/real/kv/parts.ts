import fc from "fast-check";

export type Config = Readonly<Record<string, unknown>>;

/** What no cache depends on; small, so that a model without weights is built fast. */
export const OTHERS = {
  max_position_embeddings: 262_144,
  vocab_size: 1024,
  intermediate_size: 256,
  moe_intermediate_size: 128,
  shared_expert_intermediate_size: 128,
  num_experts: 4,
  num_local_experts: 4,
  num_experts_per_tok: 2,
  rms_norm_eps: 1e-6,
  layer_norm_eps: 1e-5,
  rope_theta: 10_000,
  pad_token_id: 0,
  tie_word_embeddings: false,
};

type Part = fc.Arbitrary<object> | object;

export function config(
  architecture: string,
  model_type: string,
  ...parts: readonly Part[]
): fc.Arbitrary<Config> {
  const all = parts.map((part) => (part instanceof fc.Arbitrary ? part : fc.constant(part)));
  const common = { ...OTHERS, architectures: [architecture], model_type };
  return fc
    .tuple(fc.constantFrom("bfloat16", "float16", "float32"), ...all)
    .map(([torch_dtype, ...fields]) => Object.assign({ ...common, torch_dtype }, ...fields));
}

export const depth = fc
  .integer({ min: 1, max: 40 })
  .map((num_hidden_layers) => ({ num_hidden_layers }));
const width = fc.constantFrom(64, 80, 96, 128, 160, 192, 256);
const heads = fc
  .tuple(fc.constantFrom(1, 2, 3, 4, 8, 16), fc.constantFrom(1, 2, 4, 5, 8))
  .map(([shared, each]) => ({ num_attention_heads: shared * each, num_key_value_heads: shared }));
/** A width of the heads beside a hidden_size that says another. */
export const given = fc.tuple(heads, width).map(([count, head_dim]) => ({
  ...count,
  head_dim,
  hidden_size: 64 * count.num_attention_heads,
}));
/** A width that only follows from hidden_size. */
export const derived = fc
  .tuple(heads, width)
  .map(([count, each]) => ({ ...count, hidden_size: each * count.num_attention_heads }));

/**
 * Layers in any order; the first has full attention, since a model of linear layers alone is an
 * unknown one.
 */
const types = (...others: readonly string[]) =>
  fc.array(fc.constantFrom("full_attention", ...others), { maxLength: 40 }).map((rest) => {
    const layer_types = ["full_attention", ...rest];
    return { layer_types, num_hidden_layers: layer_types.length };
  });
export const windows = types("sliding_attention", "sliding_attention");
export const linears = types("linear_attention", "linear_attention");
export const period = fc
  .tuple(depth, fc.integer({ min: 1, max: 8 }))
  .map(([layers, sliding_window_pattern]) => ({ ...layers, sliding_window_pattern }));
export const interval = fc
  .tuple(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 4 }))
  .map(([every, times]) => ({
    full_attention_interval: every,
    num_hidden_layers: every * times + 1,
  }));
export const window = fc
  .constantFrom(0, 1, 64, 100, 128, 1024, 4095, 4096, 32_768)
  .map((sliding_window) => ({ sliding_window }));

export const linear = fc
  .record({
    keys: fc.constantFrom(2, 4, 8, 16),
    each: fc.constantFrom(1, 2, 3, 4),
    linear_key_head_dim: fc.constantFrom(64, 128, 192),
    linear_value_head_dim: fc.constantFrom(64, 128, 256),
    linear_conv_kernel_dim: fc.constantFrom(2, 4, 8),
  })
  .map(({ keys, each, ...widths }) => ({
    ...widths,
    linear_num_key_heads: keys,
    linear_num_value_heads: keys * each,
  }));
export const stateFormat = fc.constantFrom<object[]>(
  {},
  ...["auto", "float16", "float32"].map((mamba_ssm_dtype) => ({ mamba_ssm_dtype })),
);
/** Positions of text, picture and time, each in its part of a quarter of the head. */
export const rotary = given.map((fields) => {
  const part = Math.floor(fields.head_dim / 24);
  const mrope_section = [fields.head_dim / 8 - 2 * part, part, part];
  return { ...fields, rope_parameters: { ...ROPE, mrope_section, mrope_interleaved: true } };
});
const ROPE = { rope_type: "default", rope_theta: 10_000, partial_rotary_factor: 0.25 };

/** vLLM's MLA on a GB10 takes these widths of the uncompressed heads alone. */
export const latent = fc
  .record({
    kv_lora_rank: fc.constantFrom(128, 256, 384, 512, 1024),
    widths: fc.constantFrom<[number, number]>([64, 128], [128, 128], [192, 256]),
    num_attention_heads: fc.constantFrom(4, 16, 128),
    q_lora_rank: fc.constantFrom(null, 256),
  })
  .map(({ widths: [qk_nope_head_dim, v_head_dim], ...fields }) => ({
    ...{ ...fields, qk_nope_head_dim, v_head_dim, qk_rope_head_dim: 64 },
    ...{ num_key_value_heads: fields.num_attention_heads, hidden_size: 512 },
  }));
/**
 * Full-attention layers with heads of their own beside sliding ones; the last layer is always full.
 */
export const unequalHeads = fc
  .record({
    heads,
    head_dim: fc.constantFrom(64, 128, 256),
    global_head_dim: fc.constantFrom(128, 256, 512),
    num_global_key_value_heads: fc.constantFrom(1, 2, 4),
    attention_k_eq_v: fc.boolean(),
    layer_types: fc
      .array(fc.constantFrom("full_attention", "sliding_attention", "sliding_attention"), {
        maxLength: 30,
      })
      .map((rest) => ["sliding_attention", ...rest, "full_attention"]),
  })
  .map(({ heads: { num_key_value_heads }, ...fields }) => ({
    ...{
      ...fields,
      num_key_value_heads,
      num_attention_heads: 4 * num_key_value_heads,
      hidden_size: 256,
    },
    num_hidden_layers: fields.layer_types.length,
  }));

export const everyLayerFull = fc
  .integer({ min: 1, max: 40 })
  .map((layers) => ({ num_hidden_layers: layers, attn_type_list: Array(layers).fill(1) }));

/**
 * Hybrids whose index keeps one key of several tokens; n-grams are looked up in linear layers
 * alone.
 */
export const compressedKeys = fc
  .record({
    layers: fc.array(fc.constantFrom("full_attention", "linear_attention", "linear_attention"), {
      maxLength: 30,
    }),
    ngrams: fc.nat({ max: 4 }),
    indexer_compress_ratio: fc.constantFrom(4, 8),
    hc_count: fc.constantFrom(2, 4),
    ple_conv_kernel_size: fc.constantFrom(4, 64),
    num_key_value_heads: fc.constantFrom(1, 2, 4),
    head_dim: fc.constantFrom(128, 256),
  })
  .map(({ layers, ngrams, ...fields }) => {
    const layer_types = ["linear_attention", "full_attention", ...layers];
    const linearLayers = layer_types.flatMap((kind, index) =>
      kind === "linear_attention" ? [index + 1] : [],
    );
    return {
      ...{
        ...fields,
        layer_types,
        num_hidden_layers: layer_types.length,
        num_attention_heads: 8,
        hidden_size: 512,
      },
      ...{
        ple_layer_ids: linearLayers.slice(0, ngrams),
        indexer_budget: 512 * fields.indexer_compress_ratio,
      },
      ...{
        indexer_n_heads: 4,
        indexer_kv_heads: 1,
        indexer_head_dim: 128,
        torch_dtype: "bfloat16",
      },
      ...{
        hc_lowrank: 32,
        ple_embed_dim: 256,
        ngram_size: 3,
        heads_per_ngram: 8,
        ngram_vocab_size_base: 1000,
      },
      ...{
        eos_token_id: 1,
        output_gate_type: "sigmoid",
        mtp_num_hidden_layers: 1,
        rope_parameters: ROPE,
      },
    };
  });

/** Which layers select the tokens that they and the ones behind them read. */
export const selections = depth.chain((layers) =>
  fc
    .oneof(
      fc.record({
        index_topk_freq: fc.integer({ min: 1, max: 5 }),
        index_skip_topk_offset: fc.integer({ min: 0, max: 4 }),
      }),
      fc
        .array(fc.constantFrom("F", "S"), {
          minLength: layers.num_hidden_layers - 1,
          maxLength: layers.num_hidden_layers - 1,
        })
        .map((rest) => ({ index_topk_pattern: `F${rest.join("")}` })),
      fc.constant({}),
    )
    .map((fields) => ({ ...layers, ...fields })),
);
export const INDEX = {
  ...{
    index_n_heads: 32,
    index_head_dim: 128,
    index_topk: 2048,
    kv_lora_rank: 512,
    qk_rope_head_dim: 64,
  },
  ...{ qk_nope_head_dim: 192, v_head_dim: 256, q_lora_rank: 256, num_attention_heads: 64 },
  ...{ num_key_value_heads: 64, head_dim: 192, hidden_size: 512, rope_interleave: true },
  rope_parameters: { rope_type: "default", rope_theta: 10_000 },
};

export const compression = fc
  .record({
    ratios: fc.array(fc.constantFrom(0, 4, 128), { maxLength: 30 }),
  })
  .map(({ ratios }) => ({
    sliding_window: 128,
    compress_ratios: [0, 4, ...ratios, 0],
    num_hidden_layers: ratios.length + 2,
  }));
export const COMPRESSED = {
  ...{
    num_attention_heads: 64,
    num_key_value_heads: 1,
    head_dim: 512,
    hidden_size: 512,
    q_lora_rank: 256,
  },
  ...{ qk_rope_head_dim: 64, index_n_heads: 64, index_head_dim: 128, index_topk: 512, o_groups: 8 },
  ...{
    o_lora_rank: 64,
    hc_mult: 4,
    hc_eps: 1e-6,
    hc_sinkhorn_iters: 20,
    compress_rope_theta: 160_000,
  },
  ...{
    num_hash_layers: 0,
    swiglu_limit: 10.5,
    hidden_act: "silu",
    expert_dtype: "fp4",
    num_nextn_predict_layers: 1,
  },
};

export const EXPERTS = {
  ...{ n_routed_experts: 4, n_shared_experts: 1, n_group: 1, topk_group: 1, topk_method: "greedy" },
  ...{
    first_k_dense_replace: 0,
    moe_layer_freq: 1,
    routed_scaling_factor: 1.5,
    norm_topk_prob: true,
  },
  ...{ scoring_func: "softmax", moe_shared_expert_intermediate_size: 128 },
};
export const drafter = fc
  .constantFrom(1, 2)
  .map((num_nextn_predict_layers) => ({ num_nextn_predict_layers }));

export const stateSpace = fc.record({
  mamba_num_heads: fc.constantFrom(8, 16, 64),
  mamba_head_dim: fc.constantFrom(32, 64),
  ssm_state_size: fc.constantFrom(64, 128),
  n_groups: fc.constantFrom(1, 2, 8),
  conv_kernel: fc.constantFrom(2, 4),
  mamba_ssm_cache_dtype: fc.constantFrom("float32", "bfloat16", "auto"),
});
export const STATE_SPACE_REST = {
  ...{
    mlp_hidden_act: "relu2",
    mlp_bias: false,
    use_bias: false,
    use_conv_bias: true,
    chunk_size: 128,
  },
  ...{ expand: 2, mamba_hidden_act: "silu", mamba_proj_bias: false, layer_norm_epsilon: 1e-5 },
};
export const letters = fc
  .array(fc.constantFrom("M", "M", "*", "-"), { maxLength: 40 })
  .map((rest) => ({
    hybrid_override_pattern: `*${rest.join("")}`,
    num_hidden_layers: rest.length + 1,
  }));
export const words = fc
  .array(fc.constantFrom("mamba", "mamba", "attention", "moe"), { maxLength: 40 })
  .map((rest) => ({
    layers_block_type: ["attention", ...rest],
    num_hidden_layers: rest.length + 1,
  }));
export const DRAFT_PATTERN = {
  ...{ num_nextn_predict_layers: 1, mtp_layers_block_type: ["attention", "moe"] },
  mtp_hybrid_override_pattern: "*E",
};

const FLOAT8 = { num_bits: 8, type: "float", dynamic: false, strategy: "tensor", symmetric: true };
const COMPRESSED_TENSORS = {
  ...{ quant_method: "compressed-tensors", format: "float-quantized", ignore: [] },
  config_groups: {
    all: {
      targets: ["Linear"],
      weights: { ...FLOAT8, strategy: "channel" },
      input_activations: { ...FLOAT8, strategy: "token", dynamic: true },
    },
  },
};
const producer = { name: "modelopt", version: "0.39" };
/** Quantized checkpoints: some ask for a format of the cache. */
export const quantized = fc
  .constantFrom<object[]>(
    { quant_method: "fp8", activation_scheme: "dynamic" },
    { quant_method: "modelopt", quant_algo: "FP8", ignore: [], kv_cache_scheme: FLOAT8 },
    { quant_method: "modelopt", quant_algo: "FP8", ignore: [] },
    {
      producer,
      quantization: { quant_algo: "FP8", kv_cache_quant_algo: "FP8", exclude_modules: [] },
    },
    {
      producer,
      quantization: { quant_algo: "FP8", kv_cache_quant_algo: "INT8", exclude_modules: [] },
    },
    {
      producer,
      quantization: { quant_algo: "FP8", kv_cache_quant_algo: null, exclude_modules: [] },
    },
    { ...COMPRESSED_TENSORS, kv_cache_scheme: FLOAT8 },
    { ...COMPRESSED_TENSORS, kv_cache_scheme: null },
  )
  .map((quantization_config) => ({ quantization_config }));

export const SMALL_VISION = {
  ...{ depth: 1, hidden_size: 64, intermediate_size: 64, num_heads: 2, out_hidden_size: 512 },
  ...{ num_position_embeddings: 64, deepstack_visual_indexes: [] },
};
/** The language model inside one that also sees. */
export const nested = (text: fc.Arbitrary<Config>, architecture: string, model_type: string) =>
  text.map((text_config) => ({
    architectures: [architecture],
    model_type,
    text_config,
    vision_config: SMALL_VISION,
  }));
