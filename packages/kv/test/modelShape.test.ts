import { FaultyInput } from "@local-serving/base/faults/fault";
import { parseYaml } from "@local-serving/base/faults/yamlDocument";
import { describe, expect, it } from "vitest";
import { faultsFrom } from "../../../test/fixtures/faults";
import { modelShape } from "..";

const dense = {
  num_hidden_layers: 32,
  num_attention_heads: 32,
  hidden_size: 4096,
  num_key_value_heads: 8,
};
const linear = {
  linear_num_key_heads: 16,
  linear_num_value_heads: 32,
  linear_key_head_dim: 128,
  linear_value_head_dim: 128,
  linear_conv_kernel_dim: 4,
};

const faultsOf = (config: unknown) =>
  faultsFrom(() => modelShape(config)).map(({ path, code }) => [path, code]);

describe("key/value heads and their width", () => {
  const heads = (config: object) =>
    modelShape({ ...dense, num_key_value_heads: undefined, ...config }).attention;

  it.each([
    "num_key_value_heads",
    "num_kv_heads",
    "n_head_kv",
    "multi_query_group_num",
    "num_attention_groups",
  ])("%s", (name) => {
    expect(heads({ [name]: 4 })).toEqual({ kind: "heads", kvHeads: 4, headDim: 128 });
  });

  it("without any, every query head has its own", () => {
    expect(heads({})).toEqual({ kind: "heads", kvHeads: 32, headDim: 128 });
    expect(heads({ num_key_value_heads: null })).toEqual({
      kind: "heads",
      kvHeads: 32,
      headDim: 128,
    });
  });

  it("multi_query is one head for all, unless the decoder is of the newer kind; without it none is shared", () => {
    expect(heads({ multi_query: true })).toMatchObject({ kvHeads: 1 });
    expect(heads({ multi_query: false, num_kv_heads: 8 })).toMatchObject({ kvHeads: 32 });
    expect(
      heads({ multi_query: true, new_decoder_architecture: true, num_kv_heads: 8 }),
    ).toMatchObject({
      kvHeads: 8,
    });
  });

  it("head_dim wins over hidden_size / heads; null and 0 count as absent", () => {
    expect(heads({ head_dim: 256 })).toMatchObject({ headDim: 256 });
    expect(heads({ head_dim: null })).toMatchObject({ headDim: 128 });
    expect(heads({ head_dim: 0 })).toMatchObject({ headDim: 128 });
    expect(heads({ hidden_size_per_head: 96 })).toMatchObject({ headDim: 96 });
  });

  it("kv_lora_rank means one compressed vector a token", () => {
    expect(heads({ kv_lora_rank: 512, qk_rope_head_dim: 64, v_head_dim: 128 })).toEqual({
      kind: "latent",
      width: 576,
    });
  });
});

describe("kinds of layers", () => {
  const layers = (config: object) => modelShape({ ...dense, ...config }).layers;
  const types = (...list: string[]) =>
    Array.from({ length: 32 }, (_, i) => `${list[i % list.length]}_attention`);

  it("all full where nothing says otherwise", () => {
    expect(layers({})).toEqual({ full: 32, sliding: 0, linear: 0 });
    expect(layers({ sliding_window: null })).toEqual({ full: 32, sliding: 0, linear: 0 });
    expect(layers({ sliding_window: 4096, use_sliding_window: false })).toEqual({
      full: 32,
      sliding: 0,
      linear: 0,
    });
  });

  it("layer_types", () => {
    expect(layers({ layer_types: types("sliding", "full"), sliding_window: 128 })).toEqual({
      full: 16,
      sliding: 16,
      linear: 0,
    });
    expect(layers({ ...linear, layer_types: types("linear", "linear", "linear", "full") })).toEqual(
      {
        full: 8,
        sliding: 0,
        linear: 24,
      },
    );
  });

  it("full_attention_interval, 4 where a hybrid names none; layer_types wins", () => {
    expect(layers({ ...linear, full_attention_interval: 8 })).toEqual({
      full: 4,
      sliding: 0,
      linear: 28,
    });
    expect(layers(linear)).toEqual({ full: 8, sliding: 0, linear: 24 });
    expect(
      layers({ ...linear, full_attention_interval: 4, layer_types: types("linear", "full") }),
    ).toEqual({
      full: 16,
      sliding: 0,
      linear: 16,
    });
  });

  it("sliding_window_pattern and max_window_layers", () => {
    expect(layers({ sliding_window: 1024, sliding_window_pattern: 6 })).toEqual({
      full: 5,
      sliding: 27,
      linear: 0,
    });
    const from = (max_window_layers: number) =>
      layers({ sliding_window: 1024, use_sliding_window: true, max_window_layers });
    expect(from(32)).toEqual({ full: 32, sliding: 0, linear: 0 });
    expect(from(48)).toEqual({ full: 32, sliding: 0, linear: 0 });
    expect(from(0)).toEqual({ full: 0, sliding: 32, linear: 0 });
  });

  it("a window of 0 is none: the layers that would slide cache every token", () => {
    const all = { full: 32, sliding: 0, linear: 0 };
    expect(layers({ layer_types: types("sliding", "full"), sliding_window: 0 })).toEqual(all);
    expect(layers({ sliding_window: 0 })).toEqual(all);
    expect(layers({ sliding_window: 0, sliding_window_pattern: 6 })).toEqual(all);
  });

  it("a pattern in letters means nothing beside layer_types", () => {
    const config = { sliding_window: 1024, sliding_window_pattern: "LLLG" };
    expect(layers({ ...config, layer_types: types("sliding", "full") })).toMatchObject({
      sliding: 16,
    });
  });

  it("is read from text_config where there is one", () => {
    const shape = modelShape({
      model_type: "x",
      text_config: { ...dense, max_position_embeddings: 4096 },
    });
    expect([shape.layers.full, shape.window]).toEqual([32, 4096]);
  });

  it("draft layers by either name; 0 is none", () => {
    expect(modelShape({ ...dense, mtp_num_hidden_layers: 2 }).draftLayers).toBe(2);
    expect(modelShape({ ...dense, num_nextn_predict_layers: 1 }).draftLayers).toBe(1);
    expect(modelShape({ ...dense, mtp_num_hidden_layers: 0 }).draftLayers).toBeNull();
    expect(modelShape(dense).draftLayers).toBeNull();
  });
});

describe("the KV cache format that a checkpoint asks for", () => {
  const asked = (quantization_config: unknown) =>
    modelShape({ ...dense, quantization_config }).kvCacheDtype;
  const fp8 = { num_bits: 8, type: "float", dynamic: false };

  it.each([
    ["nothing", undefined, null],
    ["weights alone", { quant_method: "fp8" }, null],
    ["modelopt's scheme of 8 bits", { quant_method: "modelopt", kv_cache_scheme: fp8 }, "fp8"],
    [
      "modelopt's scheme of 4 bits",
      { quant_method: "modelopt_fp4", kv_cache_scheme: { ...fp8, num_bits: 4 } },
      "nvfp4",
    ],
    [
      "modelopt's algorithm",
      { quant_method: "modelopt", quantization: { kv_cache_quant_algo: "FP8" } },
      "fp8_e4m3",
    ],
    [
      "modelopt as the producer",
      { producer: { name: "modelopt" }, quantization: { kv_cache_quant_algo: "NVFP4" } },
      "nvfp4",
    ],
    [
      "an algorithm that vLLM does not follow",
      { quant_method: "modelopt", kv_cache_quant_algo: "INT8" },
      null,
    ],
    [
      "compressed-tensors' scheme",
      { quant_method: "compressed-tensors", kv_cache_scheme: fp8 },
      "fp8",
    ],
    [
      "compressed-tensors without one",
      { quant_method: "compressed-tensors", kv_cache_scheme: null },
      null,
    ],
  ] as const)("%s", (_, config, dtype) => {
    expect(asked(config)).toBe(dtype);
  });
});

describe("an unknown architecture is reported as unknown", () => {
  it.each([
    ["state-space layers", { ...dense, mamba_num_heads: 64 }, "mamba_num_heads"],
    [
      "a layer pattern of its own",
      { ...dense, hybrid_override_pattern: "M-M*" },
      "hybrid_override_pattern",
    ],
    ["short convolutions", { ...dense, conv_L_cache: 3 }, "conv_L_cache"],
    [
      "another linear attention",
      { ...dense, linear_attn_config: { num_heads: 4 } },
      "linear_attn_config",
    ],
    ["chunked attention", { ...dense, attention_chunk_size: 8192 }, "attention_chunk_size"],
    ["sparse attention", { ...dense, index_topk: 2048 }, "index_topk"],
    ["shared caches", { ...dense, num_kv_shared_layers: 10 }, "num_kv_shared_layers"],
    ["heads that differ", { ...dense, swa_num_attention_heads: 8 }, "swa_num_attention_heads"],
    ["layers that differ", { ...dense, block_configs: [{}] }, "block_configs"],
    ["an encoder", { ...dense, is_encoder_decoder: true }, "is_encoder_decoder"],
    [
      "a new layer type",
      { ...dense, num_hidden_layers: 2, layer_types: ["full_attention", "conv"] },
      "layer_types.1",
    ],
    ["linear layers of no known kind", { ...dense, full_attention_interval: 4 }, "layer_types"],
    ["linear layers alone", { ...dense, ...linear, full_attention_interval: 64 }, "layer_types"],
    ["a window that no field assigns", { ...dense, sliding_window: 4096 }, "sliding_window"],
    [
      "a window whose pattern is in letters",
      { ...dense, sliding_window: 4096, sliding_window_pattern: "LLLG" },
      "sliding_window",
    ],
    [
      "a window for the last layers alone, which vLLM refuses or ignores",
      { ...dense, sliding_window: 4096, use_sliding_window: true, max_window_layers: 28 },
      "max_window_layers",
    ],
    [
      "a window of another name",
      { ...dense, interleaved_sliding_window: [4096, null] },
      "interleaved_sliding_window",
    ],
    ["linear layers by group size", { ...dense, layer_group_size: 5 }, "layer_group_size"],
    ["sink tokens", { ...dense, param_sink_number: 128 }, "param_sink_number"],
    ["layers that run more than once", { ...dense, loop_num: 2 }, "loop_num"],
    [
      "heads of the sliding layers alone",
      { ...dense, attention_other_setting: { head_dim: 64 } },
      "attention_other_setting",
    ],
    [
      "state-space layers with a window",
      {
        ...{
          num_hidden_layers: 2,
          num_attention_heads: 8,
          head_dim: 64,
          hybrid_override_pattern: "M*",
        },
        ...{
          mamba_num_heads: 8,
          mamba_head_dim: 64,
          ssm_state_size: 64,
          n_groups: 1,
          conv_kernel: 4,
        },
        sliding_window: 4096,
      },
      "sliding_window",
    ],
    ["values wider than keys", { ...dense, v_head_dim: 256, head_dim: 128 }, "v_head_dim"],
    [
      "MLA mixed with windows",
      {
        ...dense,
        kv_lora_rank: 512,
        qk_rope_head_dim: 64,
        sliding_window: 128,
        sliding_window_pattern: 2,
      },
      "kv_lora_rank",
    ],
  ] as const)("%s", (_, config, path) => {
    expect(faultsOf(config)).toEqual([[path, "unknown_architecture"]]);
  });

  it("an encoder beside the text_config too", () => {
    expect(faultsOf({ is_encoder_decoder: true, text_config: dense })).toEqual([
      ["is_encoder_decoder", "unknown_architecture"],
    ]);
  });

  it("a config without any attention settings", () => {
    expect(faultsOf({ model_type: "anything" })).toEqual([
      ["", "unknown_architecture"],
      ["num_hidden_layers", "missing_key"],
      ["num_attention_heads", "missing_key"],
    ]);
  });

  it("fields that say nothing (null, false, 0, empty) are no sign", () => {
    expect(
      faultsOf({
        ...dense,
        attention_chunk_size: null,
        is_encoder_decoder: false,
        mamba_d_state: 0,
        block_types: [],
      }),
    ).toEqual([]);
  });

  it("says it in words", () => {
    expect(() => modelShape({ ...dense, mamba_d_state: 128 })).toThrow(
      "mamba_d_state: Unknown architecture: This field means state-space layers, which can't be planned. Its KV cache can't be planned before the engine has measured it.",
    );
  });
});

describe("a broken config", () => {
  it.each([
    ["no map", [1, 2], [["", "wrong_type"]]],
    ["nothing", null, [["", "wrong_type"]]],
    [
      "text for a number",
      { ...dense, num_hidden_layers: "32" },
      [["num_hidden_layers", "wrong_type"]],
    ],
    ["no layers", { ...dense, num_hidden_layers: 0 }, [["num_hidden_layers", "out_of_range"]]],
    ["a negative width", { ...dense, head_dim: -1 }, [["head_dim", "out_of_range"]]],
    [
      "half a head",
      { ...dense, num_key_value_heads: 1.5 },
      [["num_key_value_heads", "wrong_type"]],
    ],
    ["a missing width", { ...dense, hidden_size: undefined }, [["head_dim", "missing_key"]]],
    ["a width that doesn't divide", { ...dense, hidden_size: 4095 }, [["head_dim", "missing_key"]]],
    [
      "heads that don't divide",
      { ...dense, num_key_value_heads: 5 },
      [["num_attention_heads", "impossible_value"]],
    ],
    ["half of MLA", { ...dense, kv_lora_rank: 512 }, [["qk_rope_head_dim", "missing_key"]]],
    [
      "too few layer types",
      { ...dense, layer_types: ["full_attention"] },
      [["layer_types", "impossible_value"]],
    ],
    [
      "sliding layers without a window",
      { ...dense, layer_types: Array(32).fill("sliding_attention") },
      [["sliding_window", "missing_key"]],
    ],
    [
      "an unknown state format",
      { ...dense, mamba_ssm_dtype: "fp4" },
      [["mamba_ssm_dtype", "unknown_value"]],
    ],
    [
      "half of the linear fields",
      { ...dense, linear_num_value_heads: 32, linear_key_head_dim: 128 },
      [
        ["linear_num_key_heads", "missing_key"],
        ["linear_value_head_dim", "missing_key"],
        ["linear_conv_kernel_dim", "missing_key"],
      ],
    ],
    [
      "many faults, all at once",
      { num_hidden_layers: -1, num_attention_heads: "x", hidden_size: 2.5, head_dim: [] },
      [
        ["num_hidden_layers", "out_of_range"],
        ["num_attention_heads", "wrong_type"],
        ["hidden_size", "wrong_type"],
        ["head_dim", "wrong_type"],
      ],
    ],
  ] as const)("%s", (_, config, faults) => {
    expect(faultsOf(config)).toEqual(faults);
  });

  it("names file, path and place", () => {
    const document = parseYaml(
      "config.json",
      '{\n  "text_config": {\n    "num_hidden_layers": 0\n  }\n}\n',
    );
    try {
      modelShape(document.value, document);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(FaultyInput);
      if (!(error instanceof FaultyInput)) return;
      expect(error.input).toBe("config.json");
      expect(error.faults[0]).toMatchObject({
        path: "text_config.num_hidden_layers",
        line: 3,
        column: 26,
      });
      expect(error.faults[1]).toMatchObject({
        path: "text_config.num_attention_heads",
        code: "missing_key",
      });
    }
  });
});
