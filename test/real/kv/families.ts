import type { KvEngineSettings } from "@local-serving/kv";
import fc from "fast-check";
import {
  COMPRESSED,
  type Config,
  compressedKeys,
  compression,
  config,
  DRAFT_PATTERN,
  depth,
  derived,
  drafter,
  EXPERTS,
  everyLayerFull,
  given,
  INDEX,
  interval,
  latent,
  letters,
  linear,
  linears,
  nested,
  period,
  quantized,
  rotary,
  STATE_SPACE_REST,
  selections,
  stateFormat,
  stateSpace,
  unequalHeads,
  window,
  windows,
  words,
} from "./parts";

/** Formats of the cache that vLLM has for every family; some have more. */
const FEWER = ["auto", "bfloat16", "float16", "fp8", "fp8_e4m3"] as const;
/** Those that it has where vectors are packed with their scales. */
const PACKED = ["auto", "fp8", "fp8_e4m3"] as const;

/** The one format of such a model for which vLLM has an attention of its own on a GB10. */
const BFLOAT = { torch_dtype: "bfloat16" };

/** Configs of one kind of model, each perturbed in what its cache depends on. */
export interface Family {
  readonly name: string;
  readonly configs: fc.Arbitrary<Config>;
  readonly drafts?: true;
  /** The one version whose plan ours is; without it every one's. */
  readonly only?: string;
  /**
   * vLLM has fewer formats of the cache for it: for compressed vectors, and beside weights in FP8.
   */
  readonly formats?: readonly NonNullable<KvEngineSettings["kvCacheDtype"]>[];
}

/** Every kind of model that has a KV plan, as the architecture by which vLLM serves it. */
export const FAMILIES: readonly Family[] = [
  {
    name: "dense, width of heads derived",
    configs: config("LlamaForCausalLM", "llama", depth, derived),
  },
  {
    name: "dense, width of heads given",
    configs: config("Qwen3ForCausalLM", "qwen3", depth, given),
  },
  {
    name: "dense, quantized",
    configs: config("LlamaForCausalLM", "llama", depth, given, quantized),
    formats: FEWER,
  },
  {
    name: "dense, a window that is switched off",
    configs: config("Qwen2ForCausalLM", "qwen2", depth, derived, window, {
      use_sliding_window: false,
    }),
  },
  {
    name: "dense, heads of another name, and a cache that stays in the model's format",
    configs: config(
      ...(["FalconForCausalLM", "falcon", depth] as const),
      derived.map((fields) => ({ ...fields, num_kv_heads: fields.num_key_value_heads })),
      fc.record({ multi_query: fc.boolean(), new_decoder_architecture: fc.boolean() }),
    ),
  },
  { name: "mixture of experts", configs: config("Qwen3MoeForCausalLM", "qwen3_moe", depth, given) },
  {
    name: "mixture of experts with a drafter",
    configs: config("Glm4MoeForCausalLM", "glm4_moe", depth, given, EXPERTS, drafter),
    drafts: true,
  },
  {
    name: "sliding windows by layer_types",
    configs: config("LlamaForCausalLM", "llama", windows, derived, window),
  },
  {
    name: "sliding windows by layer_types, beside a pattern in letters",
    configs: config("Exaone4ForCausalLM", "exaone4", windows, given, window, {
      sliding_window_pattern: "LLLG",
    }),
  },
  {
    name: "sliding windows by a period",
    configs: config("Gemma3ForCausalLM", "gemma3_text", period, given, window),
  },
  {
    name: "sliding windows in every layer",
    configs: config("Qwen2ForCausalLM", "qwen2", depth, derived, window, {
      ...{ use_sliding_window: true, max_window_layers: 0 },
    }),
  },
  {
    // Here vLLM alternates by itself, whatever layer_types says.
    name: "sliding windows in every second layer, with sinks",
    configs: config(
      ...(["GptOssForCausalLM", "gpt_oss", given, window, { head_dim: 64 }] as const),
      fc.integer({ min: 1, max: 40 }).map((num_hidden_layers) => ({
        num_hidden_layers,
        layer_types: Array.from({ length: num_hidden_layers }, (_, i) =>
          i % 2 === 0 ? "sliding_attention" : "full_attention",
        ),
      })),
    ),
  },
  {
    // Here vLLM reads no mamba_ssm_dtype, and an interval of 4 whatever the config says.
    name: "gated delta nets by layer_types",
    configs: config("Qwen3NextForCausalLM", "qwen3_next", linears, linear, given),
    drafts: true,
  },
  {
    name: "gated delta nets by interval, nested",
    configs: nested(
      config("", "qwen3_5_text", interval, linear, rotary, stateFormat, {
        mtp_num_hidden_layers: 1,
      }),
      ...(["Qwen3_5ForConditionalGeneration", "qwen3_5"] as const),
    ),
    drafts: true,
  },
  {
    name: "gated delta nets by layer_types with experts, nested",
    configs: nested(
      config("", "qwen3_5_moe_text", linears, linear, rotary, stateFormat, {
        mtp_num_hidden_layers: 2,
      }),
      ...(["Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe"] as const),
    ),
    drafts: true,
  },
  {
    // vLLM 0.33 has another kernel for them than for the others, which no field tells.
    name: "gated delta nets of another maker",
    only: "0.30.0",
    configs: config("OlmoHybridForCausalLM", "olmo_hybrid", linears, linear, derived).filter(
      ({ layer_types }) => Array.isArray(layer_types) && layer_types.includes("linear_attention"),
    ),
  },
  {
    name: "MLA",
    configs: config("DeepseekV2ForCausalLM", "deepseek_v2", depth, latent, EXPERTS),
    formats: FEWER,
  },
  {
    name: "MLA with a drafter",
    configs: config("DeepseekV3ForCausalLM", "deepseek_v3", depth, latent, EXPERTS, drafter),
    drafts: true,
    formats: FEWER,
  },
  {
    name: "heads of full-attention layers that differ from those of sliding ones",
    configs: config("Gemma4ForCausalLM", "gemma4_text", unequalHeads, {
      ...{ sliding_window: 1024, num_kv_shared_layers: 0, hidden_size_per_layer_input: 0 },
    }),
    formats: FEWER,
  },
  {
    name: "layers in numbers, all with full attention",
    configs: config("MiniMaxM2ForCausalLM", "minimax_m2", everyLayerFull, given, {
      rotary_dim: 64,
      scoring_func: "sigmoid",
    }),
  },
  {
    name: "sparse attention over compressed vectors",
    configs: config(
      "GlmMoeDsaForCausalLM",
      "glm_moe_dsa",
      selections,
      EXPERTS,
      INDEX,
      drafter,
      BFLOAT,
    ),
    drafts: true,
    formats: PACKED,
  },
  {
    name: "compressed tokens beside a window in each layer",
    configs: config("DeepseekV4ForCausalLM", "deepseek_v4", compression, EXPERTS, COMPRESSED, {
      ...{ scoring_func: "sqrtsoftplus", topk_method: "noaux_tc" },
    }),
    drafts: true,
    formats: PACKED,
  },
  {
    name: "gated delta nets, and an index that compresses its keys",
    configs: config("Qwen4ExpForCausalLM", "qwen4_exp_text", compressedKeys, linear, stateFormat),
    drafts: true,
    formats: ["auto", "bfloat16"],
  },
  {
    name: "state space, layers in letters",
    configs: config(
      "NemotronHForCausalLM",
      "nemotron_h",
      letters,
      given,
      stateSpace,
      STATE_SPACE_REST,
    ),
  },
  {
    name: "state space, layers in words, with a drafter",
    configs: config(
      ...([
        "NemotronHForCausalLM",
        "nemotron_h",
        words,
        given,
        stateSpace,
        STATE_SPACE_REST,
      ] as const),
      ...([EXPERTS, DRAFT_PATTERN] as const),
    ),
    drafts: true,
  },
];
