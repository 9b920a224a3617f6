import type { KvEngineSettings } from "@local-serving/kv";
import type { Case } from "./cases";
import type { Config } from "./parts";

const DENSE: Config = {
  ...{
    architectures: ["LlamaForCausalLM"],
    model_type: "llama",
    torch_dtype: "bfloat16",
    pad_token_id: 0,
  },
  ...{ num_hidden_layers: 4, num_attention_heads: 8, num_key_value_heads: 2, head_dim: 128 },
  ...{
    hidden_size: 1024,
    intermediate_size: 256,
    vocab_size: 1024,
    max_position_embeddings: 32_768,
  },
};
const full = (layers: number) => Array<string>(layers).fill("full_attention");
const named = (architecture: string, model_type: string) => ({
  architectures: [architecture],
  model_type,
});

const NET: Config = {
  ...{ linear_num_key_heads: 4, linear_num_value_heads: 8, linear_key_head_dim: 128 },
  ...{ linear_value_head_dim: 128, linear_conv_kernel_dim: 4 },
};
const MROPE = {
  ...{ rope_type: "default", rope_theta: 10_000, partial_rotary_factor: 0.25 },
  ...{ mrope_section: [6, 5, 5], mrope_interleaved: true },
};
const EXPERTS = { num_experts: 4, num_experts_per_tok: 2, moe_intermediate_size: 128 };
const FLAT = {
  ...{ ...DENSE, ...NET, ...EXPERTS, ...named("Qwen3NextForCausalLM", "qwen3_next") },
  shared_expert_intermediate_size: 128,
};
const HYBRID = { ...FLAT, layer_types: [...full(3), "linear_attention"] };
/** One page: 272 tokens of 1,024 bytes. */
const HYBRID_BLOCK = 272 * 1024;
const NESTED = {
  ...named("Qwen3_5ForConditionalGeneration", "qwen3_5"),
  text_config: {
    ...DENSE,
    ...NET,
    model_type: "qwen3_5_text",
    mamba_ssm_dtype: "float32",
    layer_types: full(4),
    rope_parameters: MROPE,
  },
  vision_config: {
    depth: 1,
    hidden_size: 64,
    intermediate_size: 64,
    num_heads: 2,
    out_hidden_size: 512,
  },
};
const LATENT = {
  ...{
    ...DENSE,
    ...named("DeepseekV2ForCausalLM", "deepseek_v2"),
    head_dim: 64,
    num_key_value_heads: 8,
  },
  ...{
    kv_lora_rank: 512,
    qk_rope_head_dim: 64,
    qk_nope_head_dim: 128,
    v_head_dim: 128,
    q_lora_rank: null,
  },
  ...{ n_routed_experts: 4, first_k_dense_replace: 4, n_group: 1, topk_group: 1 },
};
const stateSpace = (hybrid_override_pattern: string) => ({
  ...{
    ...DENSE,
    ...named("NemotronHForCausalLM", "nemotron_h"),
    mlp_hidden_act: "relu2",
    mlp_bias: false,
  },
  ...{ mamba_num_heads: 8, mamba_head_dim: 64, ssm_state_size: 64, n_groups: 1, conv_kernel: 4 },
  ...{ chunk_size: 128, expand: 2, use_bias: false, use_conv_bias: true, layer_norm_epsilon: 1e-5 },
  ...{ hybrid_override_pattern, num_hidden_layers: hybrid_override_pattern.length },
});

const asked = (config: Config, engine: KvEngineSettings = {}): Case => ({
  config,
  engine: { maxModelLen: 4096, maxNumSeqs: 4, maxNumBatchedTokens: 2048, ...engine },
  availableBytes: 2 ** 30,
});

/** Corners that perturbing seldom meets: vLLM's plan and ours are the same. */
export const ODD_CASES: readonly { readonly name: string; readonly asked: Case }[] = [
  { name: "a flat hybrid without linear layers", asked: asked({ ...FLAT, layer_types: full(4) }) },
  { name: "a nested hybrid without linear layers", asked: asked(NESTED) },
  { name: "state space, attention alone", asked: asked(stateSpace("****")) },
  { name: "state space, attention and layers without a cache", asked: asked(stateSpace("*-*-")) },
  {
    name: "windows of 0 in every layer",
    asked: asked({ ...DENSE, layer_types: Array(4).fill("sliding_attention"), sliding_window: 0 }),
  },
  {
    name: "a hybrid with as many sequences as blocks",
    asked: {
      ...asked(HYBRID, { maxModelLen: 256, maxNumSeqs: 60 }),
      availableBytes: 60 * HYBRID_BLOCK,
    },
  },
  {
    name: "a hybrid with one sequence more than blocks",
    asked: {
      ...asked(HYBRID, { maxModelLen: 256, maxNumSeqs: 61 }),
      availableBytes: 60 * HYBRID_BLOCK,
    },
  },
  {
    name: "two ranks of machines that differ: the least memory counts",
    asked: { ...asked(DENSE, { tensorParallelSize: 2 }), availableOfRanks: [2 ** 31, 2 ** 30] },
  },
  {
    name: "more ranks than heads, each has one",
    asked: asked(DENSE, { tensorParallelSize: 4 }),
  },
  {
    name: "state space of one group, which each of two ranks keeps",
    asked: asked(stateSpace("*M*M"), { tensorParallelSize: 2 }),
  },
  { name: "a request of one token", asked: asked(DENSE, { maxModelLen: 1 }) },
  { name: "memory of less than a block", asked: { ...asked(DENSE), availableBytes: 1 } },
];

/** What vLLM has a plan for and we have none: it is said to be unknown. */
export const UNKNOWN: readonly {
  readonly name: string;
  readonly asked: Case;
  readonly field: string;
}[] = [
  {
    name: "a window that no field assigns to layers",
    asked: asked({ ...DENSE, ...named("MistralForCausalLM", "mistral"), sliding_window: 4096 }),
    field: "sliding_window",
  },
  {
    name: "linear layers alone",
    asked: asked({ ...FLAT, layer_types: Array(4).fill("linear_attention") }),
    field: "layer_types",
  },
];

/** What vLLM refuses on a GB10, in its words, and the only thing that we say of it. */
export const REFUSALS: readonly {
  readonly name: string;
  readonly asked: Case;
  readonly words: string;
  readonly ours: string;
  /** The one version that refuses it; without it every one does. */
  readonly only?: string;
}[] = [
  {
    name: "NVFP4",
    only: "0.30.0",
    asked: asked(DENSE, { kvCacheDtype: "nvfp4" }),
    words: "No valid attention backend found",
    ours: "warning kv_cache_dtype_not_served",
  },
  {
    name: "NVFP4 that the checkpoint asks for",
    only: "0.30.0",
    asked: asked({
      ...DENSE,
      quantization_config: {
        quant_method: "modelopt",
        quant_algo: "FP8",
        kv_cache_quant_algo: "NVFP4",
        ignore: [],
      },
    }),
    words: "No valid attention backend found",
    ours: "warning kv_cache_dtype_not_served",
  },
  {
    name: "the FP8 of another maker's accelerator",
    asked: asked({ ...DENSE, head_dim: 96 }, { kvCacheDtype: "fp8_inc" }),
    words: "No valid attention backend found",
    ours: "warning kv_cache_dtype_not_served",
  },
  ...(["nvfp4", "fp8_e5m2", "int8_per_token_head", "fp8_per_token_head"] as const).map(
    (kvCacheDtype) => ({
      name: `MLA in ${kvCacheDtype}`,
      asked: asked(LATENT, { kvCacheDtype }),
      words:
        kvCacheDtype === "nvfp4"
          ? "nvfp4 KV cache is not supported with MLA"
          : "No valid attention backend found",
      ours: "error impossible_value",
    }),
  ),
  {
    name: "a window for some layers by max_window_layers",
    asked: asked({
      ...{ ...DENSE, ...named("Qwen2ForCausalLM", "qwen2"), head_dim: null },
      ...{ sliding_window: 1024, use_sliding_window: true, max_window_layers: 2 },
    }),
    words: "Sliding window for some but all layers is not supported",
    ours: "error unknown_architecture",
  },
  {
    name: "attention heads that two ranks can't share",
    asked: asked(
      { ...DENSE, num_attention_heads: 3, num_key_value_heads: 1, hidden_size: 384 },
      { tensorParallelSize: 2 },
    ),
    words: "Total number of attention heads (3) must be divisible by tensor parallel size (2)",
    ours: "error impossible_value",
  },
  {
    name: "a window above the model's own",
    asked: asked(DENSE, { maxModelLen: 32_769 }),
    words: "is greater than the derived max_model_len",
    ours: "warning window_above_model",
  },
];
