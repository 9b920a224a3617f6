import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type KvEngineSettings, modelShape } from "@local-serving/kv";
import type { Case } from "./cases";
import {
  COMPRESSED,
  type Config,
  EXPERTS,
  INDEX,
  OTHERS,
  SMALL_VISION,
  STATE_SPACE_REST,
} from "./parts";

const MODELS = join(__dirname, "../../../models");

/**
 * What the cut configs lack of a model's own that vLLM asks for and no cache depends on, by its
 * `model_type`.
 */
const LEFT_OUT: Readonly<Record<string, Config>> = {
  deepseek_v4: { ...EXPERTS, ...COMPRESSED, scoring_func: "sqrtsoftplus", topk_method: "noaux_tc" },
  gemma4: { vision_config: { model_type: "gemma4_vision", num_hidden_layers: 1 } },
  glm4_moe_lite: EXPERTS,
  glm_moe_dsa: { ...EXPERTS, ...INDEX },
  minimax_m2: { rotary_dim: 64, scoring_func: "sigmoid" },
  // vLLM reads these only from a file of the maker's own form; the shape is that of another
  // maker's.
  mistral4: {
    ...{ architectures: ["DeepseekV3ForCausalLM"], model_type: "deepseek_v3", ...EXPERTS },
    ...{ qk_nope_head_dim: 64, q_lora_rank: 256, num_key_value_heads: 32 },
  },
  muse_glimmer: { architectures: ["MuseGlimmerForCausalLM"] },
  nemotron_h: { ...STATE_SPACE_REST, ...EXPERTS },
  qwen3_5: { vision_config: SMALL_VISION },
  qwen3_5_moe: { vision_config: SMALL_VISION },
  qwen3_vl: {
    vision_config: { ...SMALL_VISION, out_hidden_size: 4096, deepstack_visual_indexes: [0] },
  },
  // vLLM knows this one only inside one that also sees, and its language model by the name of the
  // version before.
  step3p7: {
    ...{
      architectures: ["Step3p5ForCausalLM"],
      model_type: "step3p5",
      ...EXPERTS,
      max_seq_len: 65_536,
    },
    ...{ moe_num_experts: 4, moe_top_k: 2, share_expert_dim: 128, num_attention_groups: 8 },
    ...{ use_moe_router_bias: true, norm_expert_weight: true, need_fp32_gate: true },
    moe_router_scaling_factor: 3.5,
  },
};

/** Positions of text, picture and time, in a quarter of the head or in all of it. */
const QUARTER = {
  ...{ rope_type: "default", rope_theta: 10_000, partial_rotary_factor: 0.25 },
  ...{ mrope_section: [11, 11, 10], mrope_interleaved: true },
};

const WHOLE = { ...QUARTER, partial_rotary_factor: 1, mrope_section: [24, 20, 20] };

/**
 * Weights stay out of it: a quantization asks for kernels, and one that the cache depends on is in
 * the families.
 */
function whole(cut: Config): Config {
  const { text_config, quantization_config: _, ...root } = cut;
  const leftOut = LEFT_OUT[String(root.model_type)] ?? {};
  if (typeof text_config !== "object") return { ...OTHERS, ...root, ...leftOut, ...own(root) };
  const rope =
    "vision_config" in leftOut && root.model_type !== "gemma4"
      ? { rope_parameters: root.model_type === "qwen3_vl" ? WHOLE : QUARTER }
      : {};
  return { ...root, ...leftOut, text_config: { ...OTHERS, ...rope, ...text_config } };
}

/** What the cut config says counts, but for the names of `step3p7`. */
function own({ architectures: _, model_type: __, ...fields }: Config): Config {
  return fields;
}

const ENGINES: readonly KvEngineSettings[] = [
  { kvCacheDtype: "fp8", maxModelLen: 32_768, maxNumSeqs: 4, maxNumBatchedTokens: 8192 },
  {
    kvCacheDtype: "auto",
    maxModelLen: 40_960,
    maxNumSeqs: 8,
    maxNumBatchedTokens: 2048,
    prefixCaching: false,
  },
  {
    kvCacheDtype: "fp8",
    maxModelLen: 16_384,
    maxNumSeqs: 8,
    maxNumBatchedTokens: 8192,
    tensorParallelSize: 2,
  },
];

/** The models of the repository as they are, but for their weights. */
export const SERVED_MODELS: readonly { readonly name: string; readonly asked: Case }[] =
  readdirSync(MODELS, {
    withFileTypes: true,
  })
    .filter((each) => each.isDirectory())
    .flatMap(({ name }) => {
      const cut: Config = JSON.parse(readFileSync(join(MODELS, name, "config.json"), "utf8"));
      // A family of its own stands for it, since vLLM takes one of the two formats from 0.32 on
      // alone. And of GLM-5.3-Flash nothing but its size is known.
      if (cut.model_type === "qwen4_exp" || cut.model_type === "glm5_next_text") return [];
      return ENGINES.map((engine, index) => {
        const config = whole(cut);
        const window = Math.min(engine.maxModelLen ?? 0, modelShape(config).window ?? 0);
        return {
          name: `${name}, engine ${index + 1}`,
          asked: {
            config,
            engine: { ...engine, maxModelLen: window },
            availableBytes: 20 * 2 ** 30,
          },
        };
      });
    });
