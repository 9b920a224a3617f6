import { describe, expect, it } from "vitest";
import { faultsFrom } from "../../../test/fixtures/faults";
import { admission, type KvEngineSettings, kvPlan, modelShape, plannedKvDtype } from "..";

const GIB = 2 ** 30;
const dense = modelShape({
  num_hidden_layers: 32,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  head_dim: 128,
  max_position_embeddings: 131_072,
});
const mla = modelShape({
  num_hidden_layers: 27,
  num_attention_heads: 16,
  kv_lora_rank: 512,
  qk_rope_head_dim: 64,
});
const hybrid = modelShape({
  num_hidden_layers: 40,
  num_attention_heads: 16,
  num_key_value_heads: 2,
  head_dim: 256,
  linear_num_key_heads: 16,
  linear_num_value_heads: 32,
  linear_key_head_dim: 128,
  linear_value_head_dim: 128,
  linear_conv_kernel_dim: 4,
  mamba_ssm_dtype: "float32",
});

const faultOf = (run: () => unknown) => faultsFrom(run).map(({ path, code }) => [path, code]);

describe("bytes of a token by KV cache format", () => {
  const perLayer = (kvCacheDtype: KvEngineSettings["kvCacheDtype"], model = dense) =>
    kvPlan(model, { kvCacheDtype, maxModelLen: 4096 }, GIB).bytesPerToken / model.layers.full;

  it.each([
    ["auto", 4096],
    ["bfloat16", 4096],
    ["float16", 4096],
    ["fp8", 2048],
    ["fp8_e4m3", 2048],
    ["fp8_e5m2", 2048],
    ["fp8_inc", 2048],
    // 128 numbers: 64 bytes and 8 one-byte scales, for 8 heads, keys and values.
    ["nvfp4", 8 * 2 * (64 + 8)],
    ["nvfp4_4over6", 8 * 2 * (64 + 8)],
    ["fp8_per_token_head", 8 * (2 * 128 + 8)],
    ["int8_per_token_head", 8 * (2 * 128 + 8)],
    ["int4_per_token_head", 8 * (2 * 64 + 8)],
  ] as const)("%s", (dtype, bytes) => {
    expect(perLayer(dtype)).toBe(bytes);
  });

  it("one vector a token for MLA", () => {
    expect(perLayer("fp8", mla)).toBe(576);
    expect(perLayer("auto", mla)).toBe(1152);
  });

  it("a text is a format or not", () => {
    expect([
      plannedKvDtype("fp8"),
      plannedKvDtype("auto"),
      plannedKvDtype("turboquant_4bit_nc"),
    ]).toEqual(["fp8", "auto", undefined]);
  });

  it.each([
    "nvfp4",
    "nvfp4_4over6",
    "fp8_e5m2",
    "fp8_inc",
    "int8_per_token_head",
    "int4_per_token_head",
  ] as const)("%s is refused for MLA, as vLLM does", (kvCacheDtype) => {
    const run = () => kvPlan(mla, { kvCacheDtype, maxModelLen: 4096 }, GIB);
    expect(faultOf(run)).toEqual([["kvCacheDtype", "impossible_value"]]);
    expect(run).toThrow(
      `vLLM has no ${kvCacheDtype} KV cache for compressed key/value vectors (MLA); use fp8 or auto.`,
    );
  });

  it.each([
    ["nvfp4", ["kv_cache_dtype_not_served"]],
    ["nvfp4_4over6", ["kv_cache_dtype_not_served"]],
    ["fp8_inc", ["kv_cache_dtype_not_served"]],
    ["fp8_e5m2", []],
    ["int8_per_token_head", []],
  ] as const)("%s: names what a GB10 can't serve, beside the figures", (kvCacheDtype, codes) => {
    const { problems, fits, starts } = kvPlan(dense, { kvCacheDtype, maxModelLen: 4096 }, GIB);
    expect(problems.map((each) => each.code)).toEqual(codes);
    expect([fits, starts]).toEqual([true, true]);
  });

  it("nvfp4 that the checkpoint asks for is reported as unserved too, with what helps", () => {
    const plan = kvPlan({ ...dense, kvCacheDtype: "nvfp4" }, { maxModelLen: 4096 }, GIB);
    expect(plan.problems.map((each) => each.message)).toEqual([
      'vLLM has no attention backend for a nvfp4 KV cache on a GB10. The published engine stops with "No valid attention backend found" (seen in the code of 0.30.0). Use fp8; these figures only hold for an image that was changed to support it.',
    ]);
  });

  it("a model whose layers don't take the setting keeps its own format, and the plan says so", () => {
    const own = modelShape({
      ...{ num_hidden_layers: 2, num_attention_heads: 8, hidden_size: 512, multi_query: true },
      ...{ new_decoder_architecture: false, quantization_config: { kv_cache_scheme: {} } },
    });
    const plan = (kvCacheDtype: "fp8" | "auto") =>
      kvPlan(own, { kvCacheDtype, maxModelLen: 4096 }, GIB);
    expect([plan("fp8").bytesPerToken, plan("auto").bytesPerToken]).toEqual([512, 512]);
    expect(plan("fp8").problems.map((each) => each.code)).toEqual(["kv_cache_dtype_ignored"]);
    expect(plan("auto").problems).toEqual([]);
  });

  it("auto follows the checkpoint, an explicit format wins over it", () => {
    const asked = { ...dense, kvCacheDtype: "fp8" } as const;
    expect(perLayer("auto", asked)).toBe(2048);
    expect(perLayer("bfloat16", asked)).toBe(4096);
  });

  it("a hybrid's block follows nvfp4 too, and fp8 leaves the state as it is", () => {
    const plan = kvPlan(
      hybrid,
      { kvCacheDtype: "nvfp4", maxModelLen: 4096, vllmVersion: "0.30.0" },
      GIB,
    );
    // State 2,146,304 bytes; a token 2 x 2 x (128 + 16) = 576: 16 x ceil(232.9).
    expect([plan.blockSize, plan.layout.pageBytes]).toEqual([3728, 3728 * 576]);
  });
});

describe("a hybrid's block", () => {
  const hybridConfig = (...layer_types: string[]) => ({
    ...{
      num_hidden_layers: layer_types.length,
      layer_types,
      num_attention_heads: 8,
      num_key_value_heads: 2,
    },
    ...{
      head_dim: 256,
      linear_num_key_heads: 16,
      linear_num_value_heads: 32,
      linear_key_head_dim: 128,
    },
    ...{ linear_value_head_dim: 128, linear_conv_kernel_dim: 4, mamba_ssm_dtype: "float32" },
  });

  const planned = (config: object) =>
    kvPlan(modelShape(config), { kvCacheDtype: "fp8", maxModelLen: 4096 }, GIB);

  it("follows the state also where a nested config lists no linear layer", () => {
    const mixed = planned(hybridConfig("linear_attention", "full_attention"));
    const full = planned({ text_config: hybridConfig("full_attention", "full_attention") });
    expect([mixed.blockSize, full.blockSize]).toEqual([2096, 2096]);
    expect([full.bytesPerBlock, full.blocksPerRequest]).toEqual([2 * 2096 * 1024, 2]);
    expect(full.layers).toMatchObject({ full: 2, linear: 0, groups: 1 });
  });

  it("is the smallest one where a flat config lists attention alone", () => {
    expect(planned(hybridConfig("full_attention", "full_attention")).blockSize).toBe(16);
  });

  it("follows a state-space model's state where it has layers beside attention, of any kind", () => {
    const sizes = {
      mamba_num_heads: 8,
      mamba_head_dim: 64,
      ssm_state_size: 64,
      n_groups: 1,
      conv_kernel: 4,
    };
    const block = (hybrid_override_pattern: string) =>
      planned({
        ...{
          num_hidden_layers: hybrid_override_pattern.length,
          num_attention_heads: 8,
          head_dim: 64,
          ...sizes,
        },
        hybrid_override_pattern,
      }).blockSize;
    expect([block("*M"), block("*-"), block("**")]).toEqual([144, 144, 16]);
  });

  it("is the smallest one where half of the state's fields are missing and no layer needs them", () => {
    const { linear_key_head_dim: _, ...rest } = hybridConfig("full_attention");
    expect(planned({ text_config: rest }).blockSize).toBe(16);
  });
});

describe("groups of layers", () => {
  const mix = (full: number, sliding: number) => {
    const layer_types = [
      ...Array(full).fill("full_attention"),
      ...Array(sliding).fill("sliding_attention"),
    ];
    const model = modelShape({
      ...{
        num_hidden_layers: full + sliding,
        num_attention_heads: 8,
        head_dim: 64,
        sliding_window: 128,
      },
      layer_types,
    });
    const { groups, layersPerGroup, padding } = kvPlan(model, { maxModelLen: 4096 }, GIB).layers;
    return [groups, layersPerGroup, padding];
  };

  it.each([
    ["equal kinds", 18, 18, [2, 18, 0]],
    ["almost equal kinds take the larger", 13, 12, [2, 13, 1]],
    ["1.5 times as many take the smaller", 20, 30, [3, 20, 10]],
    ["five to one, with a rest", 8, 54, [8, 8, 2]],
    ["one kind", 0, 24, [1, 24, 0]],
  ] as const)("%s", (_, full, sliding, expected) => {
    expect(mix(full, sliding)).toEqual(expected);
  });
});

describe("settings of the engine", () => {
  it("defaults: pinned version, prefix caching on, the model's own window", () => {
    expect(kvPlan(dense, {}, 20 * GIB)).toMatchObject({
      vllmVersion: "0.30.0",
      maxModelLen: 131_072,
      kvCacheDtype: "bfloat16",
      prefixReuseTokens: 16,
      maxNumSeqs: null,
      problems: [],
    });
  });

  it("every setting out of range is named at once", () => {
    const settings = { maxModelLen: 0, maxNumSeqs: 1.5, vllmVersion: "newest", draftTokens: -1 };
    expect(faultOf(() => kvPlan(dense, settings, GIB)).map(([path]) => path)).toEqual([
      "vllmVersion",
      "maxModelLen",
      "maxNumSeqs",
      "draftTokens",
    ]);
  });

  it("a window has to come from somewhere", () => {
    expect(faultOf(() => kvPlan(mla, {}, GIB))).toEqual([["maxModelLen", "missing_key"]]);
  });

  it("prefixes are reused in steps of a block, not at all without prefix caching", () => {
    const at = (prefixCaching: boolean) =>
      kvPlan(hybrid, { prefixCaching, maxModelLen: 4096, kvCacheDtype: "fp8" }, GIB)
        .prefixReuseTokens;
    expect([at(true), at(false)]).toEqual([2096, null]);
  });

  it("the fit check keeps one block free from 0.29 on", () => {
    const exact = 8192 * 16 * 4096 * 32; // 131,072 tokens of 4,096 bytes in each of 32 layers
    const fits = (vllmVersion: string, more = 0) =>
      kvPlan(dense, { vllmVersion }, exact + more).fits;
    expect([fits("0.26.0"), fits("0.28.9"), fits("0.29.0"), fits("0.33.0")]).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(fits("0.29.0", 16 * 4096 * 32)).toBe(true);
  });

  it("devices share the heads and the state, not an MLA vector", () => {
    const pair = { tensorParallelSize: 2, maxModelLen: 4096 };
    expect(kvPlan(dense, pair, GIB).bytesPerToken).toBe((4096 / 2) * 32);
    expect(kvPlan(dense, { ...pair, tensorParallelSize: 16 }, GIB).bytesPerToken).toBe(
      (4096 / 8) * 32,
    );
    expect(kvPlan(mla, pair, GIB).bytesPerToken).toBe(1152 * 27);
    expect(kvPlan(hybrid, pair, GIB).layout.pageBytes).toBe(2_162_688 / 2);
    expect(faultOf(() => kvPlan(hybrid, { ...pair, tensorParallelSize: 3 }, GIB))).toEqual([
      ["tensorParallelSize", "impossible_value"],
    ]);
    expect(faultOf(() => kvPlan(mla, { ...pair, tensorParallelSize: 5 }, GIB))).toEqual([
      ["tensorParallelSize", "impossible_value"],
    ]);
    const unevenGroups = modelShape({
      num_hidden_layers: 4,
      num_attention_heads: 12,
      num_key_value_heads: 3,
      head_dim: 64,
    });
    expect(() => kvPlan(unevenGroups, pair, GIB)).toThrow(
      "3 heads can't be divided among 2 devices.",
    );
  });

  it("a state-space layer with one group keeps it on each device", () => {
    const of = (n_groups: number) =>
      modelShape({
        ...{ num_hidden_layers: 2, num_attention_heads: 8, num_key_value_heads: 2, head_dim: 128 },
        ...{ mamba_num_heads: 8, mamba_head_dim: 64, ssm_state_size: 64, n_groups, conv_kernel: 4 },
        hybrid_override_pattern: "*M",
      });
    const pair = { tensorParallelSize: 2, maxModelLen: 4096 };
    const states = [1, 2].map((groups) => {
      const { pageBytes, padding } = kvPlan(of(groups), pair, GIB).layout;
      return Math.round(pageBytes / (1 + padding));
    });
    // Half of the 8 heads of 64, and of one group keys and values of 64 each; vLLM's own figure for
    // two such ranks.
    expect(states).toEqual([
      (256 + 128) * 3 * 2 + 4 * 64 * 64 * 4,
      (256 + 128) * 3 * 2 + 4 * 64 * 64 * 4,
    ]);
  });

  it.each([
    [
      "more sequences than blocks, for a hybrid",
      hybrid,
      { maxNumSeqs: 256 },
      ["too_many_sequences"],
    ],
    ["as many sequences as blocks", hybrid, { maxNumSeqs: 49 }, []],
    ["more sequences than blocks, for a dense model", dense, { maxNumSeqs: 1000 }, []],
    [
      "a window above the model's",
      dense,
      { maxModelLen: 262_144 },
      ["request_does_not_fit", "window_above_model"],
    ],
    [
      "drafts of a module that the config doesn't describe",
      dense,
      { draftTokens: 2 },
      ["draft_layer_assumed"],
    ],
    [
      "a version that is older than the rules",
      dense,
      { vllmVersion: "0.25.1" },
      ["unchecked_version"],
    ],
    [
      "a version that is newer than the rules",
      dense,
      { vllmVersion: "0.34.0" },
      ["unchecked_version"],
    ],
  ] as const)("%s", (_, model, settings, codes) => {
    const plan = kvPlan(model, { maxModelLen: 8192, kvCacheDtype: "fp8", ...settings }, GIB);
    expect(plan.problems.map((each) => each.code)).toEqual(codes);
  });

  it("a draft module that the config doesn't describe is one more full layer; without drafts it is none", () => {
    const full = (draftTokens: number, model = dense) =>
      kvPlan(model, { draftTokens, maxModelLen: 4096 }, GIB).layers.full;
    expect([full(0), full(2), full(2, { ...dense, draftLayers: 3 })]).toEqual([32, 33, 35]);
  });

  it("too many sequences: says how many would do", () => {
    const plan = kvPlan(hybrid, { maxModelLen: 8192, kvCacheDtype: "fp8", maxNumSeqs: 256 }, GIB);
    expect([plan.fits, plan.numBlocks]).toEqual([true, 50]);
    expect(plan.problems[0]?.message).toContain(". Use at most 50: ");
  });

  it("requests of the usual lengths, up to the window", () => {
    const tokens = (maxModelLen: number) =>
      kvPlan(dense, { maxModelLen }, 20 * GIB).requests.map((each) => each.tokens);
    expect(tokens(262_144)).toEqual([32_768, 65_536, 131_072, 262_144]);
    expect(tokens(65_536)).toEqual([32_768, 65_536]);
    expect(tokens(8_192)).toEqual([8_192]);
  });

  it("the request that does not fit: what it needs, what would fit, how much is missing", () => {
    const plan = kvPlan(dense, { kvCacheDtype: "fp8", maxModelLen: 131_072 }, 6 * GIB);
    expect(plan.problems[0]?.message).toBe(
      "One request of 131072 tokens needs 8 GiB of KV cache; 6 GiB can be used. To serve it, lower --max-model-len to at most 98288, or give the cache 2 GiB more.",
    );
  });
});

describe("agents that work at once", () => {
  const plan = kvPlan(
    dense,
    { kvCacheDtype: "fp8", maxModelLen: 131_072, maxNumSeqs: 4 },
    20 * GIB,
  );

  it.each([
    [
      "30,000 tokens of envelope and 32,000 of answer",
      30_000,
      32_000,
      { atOnce: 4, limitedBy: "max-num-seqs" },
    ],
    ["40,000 and 32,000: the cache and the sequences both end at 4", 40_000, 32_000, { atOnce: 4 }],
    ["50,000 and 32,000", 50_000, 32_000, { atOnce: 3, limitedBy: "kv-cache" }],
    ["100,000 and 31,072: the whole window", 100_000, 31_072, { atOnce: 2, limitedBy: "kv-cache" }],
    [
      "one token above the window",
      100_000,
      31_073,
      { atOnce: 0, limitedBy: "window", admitted: false },
    ],
  ] as const)("%s", (_, promptTokens, maxTokens, expected) => {
    expect(admission(plan, { promptTokens, maxTokens })).toMatchObject(expected);
  });

  it("without a limit of sequences the cache decides", () => {
    const open = kvPlan(dense, { kvCacheDtype: "fp8" }, 20 * GIB);
    // 62,000 tokens are 3,875 blocks; 20,479 blocks can be used.
    expect(admission(open, { promptTokens: 30_000, maxTokens: 32_000 })).toMatchObject({
      blocksPerAgent: 3875,
      atOnce: 5,
      limitedBy: "kv-cache",
    });
  });

  it("none where the engine does not start", () => {
    const none = kvPlan(dense, { kvCacheDtype: "fp8" }, GIB);
    expect(none.fits).toBe(false);
    expect(admission(none, { promptTokens: 100, maxTokens: 100 }).atOnce).toBe(0);
  });

  it.each([
    [-1, 10],
    [10, 0.5],
    [0, 0],
  ])("refuses a request of %d and %d tokens", (promptTokens, maxTokens) => {
    expect(() => admission(plan, { promptTokens, maxTokens })).toThrow(RangeError);
  });
});
