import { gib } from "@local-serving/base/units/memory";
import { describe, expect, it } from "vitest";
import { type KvEngineSettings, kvPlan, type ModelShape, modelShape } from "..";

const GIB = 2 ** 30;
const MIB = 2 ** 20;

const hybrid = (
  full: number,
  linear: number,
  kvHeads: number,
  valueHeads: number,
  dtype?: "float32",
) =>
  modelShape({
    num_hidden_layers: full + linear,
    num_attention_heads: 8 * kvHeads,
    num_key_value_heads: kvHeads,
    head_dim: 256,
    full_attention_interval: 4,
    linear_num_key_heads: 16,
    linear_num_value_heads: valueHeads,
    linear_key_head_dim: 128,
    linear_value_head_dim: 128,
    linear_conv_kernel_dim: 4,
    mamba_ssm_dtype: dtype,
    mtp_num_hidden_layers: 1,
    max_position_embeddings: 262144,
  });
const HYBRID_27B = hybrid(16, 48, 4, 48, "float32");
const HYBRID_35B = hybrid(10, 30, 2, 32, "float32");
const HYBRID_80B = hybrid(12, 36, 2, 32);

const percent = (share: number) => `${(100 * share).toFixed(2)}%`;
const seen = (model: ModelShape, engine: KvEngineSettings, available = 20 * GIB) => {
  const plan = kvPlan(model, { vllmVersion: "0.26.0", ...engine }, available);
  return {
    plan,
    block: plan.blockSize,
    padding: percent(plan.padding),
    perToken: plan.bytesPerToken,
  };
};

describe("published blocks and paddings of hybrid models", () => {
  const none = { draftTokens: 0 };
  it.each([
    ["27B fp8", HYBRID_27B, { ...none, kvCacheDtype: "fp8" }, 1568, "0.13%", 32_768],
    ["27B bf16", HYBRID_27B, { ...none, kvCacheDtype: "bfloat16" }, 784, "0.13%", 65_536],
    ["35B bf16", HYBRID_35B, { ...none, kvCacheDtype: "bfloat16" }, 1056, "0.76%", 20_480],
    ["35B fp8", HYBRID_35B, { ...none, kvCacheDtype: "fp8" }, 2096, "0.00%", 10_240],
    ["80B bf16", HYBRID_80B, { ...none, kvCacheDtype: "auto" }, 544, "1.49%", 24_576],
    ["80B fp8", HYBRID_80B, { ...none, kvCacheDtype: "fp8" }, 1072, "0.00%", 12_288],
  ] as const)("%s", (_, model, engine, block, padding, perToken) => {
    const result = seen(model, engine);
    expect([result.block, result.perToken]).toEqual([block, perToken]);
    if (padding !== "0.00%") expect(result.padding).toBe(padding);
  });

  it.each([
    [15, "bfloat16", 480, "1.27%"],
    [3, "fp8", 832, "0.48%"],
  ] as const)(
    "27B with %i drafts, KV %s, state bf16",
    (draftTokens, kvCacheDtype, block, padding) => {
      const result = seen(HYBRID_27B, {
        draftTokens,
        kvCacheDtype,
        mambaSsmCacheDtype: "bfloat16",
      });
      expect([result.block, result.padding]).toEqual([block, padding]);
    },
  );

  it("35B bf16: state and page", () => {
    const { plan } = seen(HYBRID_35B, { kvCacheDtype: "bfloat16" });
    expect(plan.layout.pageBytes).toBe(2_162_688);
    expect(plan.layout.pageBytes / (1 + plan.padding)).toBeCloseTo(2_146_304, 3);
  });

  it("80B bf16: state", () => {
    const { plan } = seen(HYBRID_80B, {});
    expect(plan.layout.pageBytes / (1 + plan.padding)).toBeCloseTo(1_097_728, 3);
  });

  it("27B fp8 with 6.67 GiB: 139 blocks, 53,312 tokens by the older count, 5.15x at 32,768", () => {
    const { plan } = seen(
      HYBRID_27B,
      { kvCacheDtype: "fp8", maxModelLen: 32_768 },
      Math.floor(6.67 * GIB),
    );
    expect([plan.numBlocks, plan.maxConcurrency.toFixed(2)]).toEqual([139, "5.15"]);
    // vLLM to about 0.20 divided the blocks by the groups: 4 here, and the fraction fell away
    // before the product.
    expect(Math.floor(plan.numBlocks / plan.layers.groups) * plan.blockSize).toBe(53_312);
  });

  it.each([
    ["27B fp8, 0.33", HYBRID_27B, "0.33.0", "fp8", 1600, "2.17%", 450],
    ["27B bf16, 0.33", HYBRID_27B, "0.33.0", "bfloat16", 832, "6.26%", 468],
    ["35B fp8, 0.33", HYBRID_35B, "0.33.0", "fp8", 2112, "0.76%", 185.625],
    ["35B bf16, 0.33", HYBRID_35B, "0.33.0", "bfloat16", 1088, "3.82%", 191.25],
    ["80B bf16, 0.33", HYBRID_80B, "0.33.0", "bfloat16", 576, "7.46%", 121.5],
    ["27B fp8, 0.26", HYBRID_27B, "0.26.0", "fp8", 1568, "0.13%", 294],
    ["27B fp8, 0.32 as 0.26", HYBRID_27B, "0.32.4", "fp8", 1568, "0.13%", 294],
    ["27B fp8, a release candidate of 0.33", HYBRID_27B, "0.33.0rc1", "fp8", 1600, "2.17%", 450],
    ["35B bf16, 0.26", HYBRID_35B, "0.26.0", "bfloat16", 1056, "0.76%", 123.75],
  ] as const)(
    "%s: block, padding, constant of a request",
    (_, model, version, dtype, block, padding, mib) => {
      const { plan } = seen(model, { vllmVersion: version, kvCacheDtype: dtype });
      expect([plan.blockSize, percent(plan.padding), plan.constantBytesPerRequest / MIB]).toEqual([
        block,
        padding,
        mib,
      ]);
    },
  );

  it("the 0.33 rule needs prefix caching, the FlashInfer kernel and key heads of 128", () => {
    const block = (engine: KvEngineSettings, model = HYBRID_27B) =>
      kvPlan(model, { vllmVersion: "0.33.0", kvCacheDtype: "fp8", ...engine }, 20 * GIB).blockSize;
    expect(block({})).toBe(1600);
    expect(block({ gdnPrefillBackend: "flashinfer" })).toBe(1600);
    expect(block({ gdnPrefillBackend: "triton" })).toBe(1568);
    expect(block({ prefixCaching: false })).toBe(1568);
    const narrow = {
      ...HYBRID_27B,
      linear: HYBRID_27B.linear && { ...HYBRID_27B.linear, keyHeadDim: 64 },
    };
    expect(block({}, narrow) % 64).not.toBe(0);
  });

  it.each([
    ["27B: 17 full and 48 linear, 3 padding layers, 6.25%", HYBRID_27B, 17, 48, 3, "6.25%"],
    ["35B: 11 full and 30 linear, 3 padding layers, 10.00%", HYBRID_35B, 11, 30, 3, "10.00%"],
  ] as const)(
    "a draft module is one more full layer (%s)",
    (_, model, full, linear, padding, share) => {
      const { layers } = seen(model, { draftTokens: 1 }).plan;
      expect(layers).toMatchObject({ full, linear, draft: 1, padding });
      expect(percent(layers.padding / layers.linear)).toBe(share);
    },
  );
});

describe("published figures of other models", () => {
  const dense = {
    num_hidden_layers: 36,
    num_attention_heads: 64,
    num_key_value_heads: 8,
    head_dim: 64,
  };

  it("36 layers of 8 heads of 64 in bf16: 73,728 bytes a token, 5.38 GiB hold 78,384 tokens to rounding", () => {
    const plan = kvPlan(
      modelShape(dense),
      { maxModelLen: 8192, kvCacheDtype: "bfloat16" },
      5.38 * GIB,
    );
    expect(plan.bytesPerToken).toBe(73_728);
    expect(Math.abs(plan.numBlocks * plan.blockSize - 78_384)).toBeLessThanOrEqual(50);
    expect(plan.numBlocks * plan.blockSize).toBe(78_336);
  });

  it("a window of 128 at 8,192 batched tokens reserves 1,033 blocks of 16", () => {
    const types = Array.from({ length: 36 }, (_, i) =>
      i % 2 ? "full_attention" : "sliding_attention",
    );
    const model = modelShape({ ...dense, layer_types: types, sliding_window: 128 });
    const plan = kvPlan(model, { maxModelLen: 131_072, maxNumBatchedTokens: 8192 }, 20 * GIB);
    expect(plan.blocksPerRequest - 131_072 / 16).toBe(1033);
  });

  it("35B at 131,072 and 262,144 tokens: 131 blocks and 2.64 GiB, 5.14 GiB; in fp8 69 blocks and 1.38 GiB, 2.64 GiB", () => {
    const cost = (kvCacheDtype: "fp8" | "bfloat16", maxModelLen: number) => {
      const { plan } = seen(HYBRID_35B, { kvCacheDtype, maxModelLen });
      return [plan.blocksPerRequest, gib(plan.bytesPerRequest)];
    };
    expect(cost("bfloat16", 131_072)).toEqual([131, "2.64 GiB"]);
    expect(cost("bfloat16", 262_144)[1]).toBe("5.14 GiB");
    expect(cost("fp8", 131_072)).toEqual([69, "1.38 GiB"]);
    expect(cost("fp8", 262_144)[1]).toBe("2.64 GiB");
  });
});

describe("one DGX Spark, as its owner logged it (vLLM 0.28.0, fp8, 3 drafts, 262,144 tokens)", () => {
  const engine: KvEngineSettings = {
    vllmVersion: "0.28.0",
    kvCacheDtype: "fp8",
    draftTokens: 3,
    maxModelLen: 262_144,
    maxNumSeqs: 4,
    maxNumBatchedTokens: 8192,
  };

  it("utilization 0.6 left 23.22 GiB: 1,960,381 tokens, 7.48x", () => {
    const plan = kvPlan(HYBRID_35B, engine, 23.22 * GIB);
    expect(plan).toMatchObject({
      fits: true,
      blockSize: 2144,
      blocksPerRequest: 138,
      numBlocks: 1032,
      tokens: 1_960_381,
      padding: 0,
      problems: [],
    });
    expect(plan.layout.pageBytes).toBe(2_195_456);
    expect(plan.layers).toMatchObject({ full: 11, linear: 30 });
    expect(plan.maxConcurrency.toFixed(2)).toBe("7.48");
    expect((plan.bytesPerRequest / GIB).toFixed(3)).toBe("3.104");
  });

  it("utilization 0.4 left -1.75 GiB: no room", () => {
    const plan = kvPlan(HYBRID_35B, engine, -1.75 * GIB);
    expect(plan).toMatchObject({
      fits: false,
      numBlocks: 0,
      maxConcurrency: 0,
      tokens: 0,
      largestMaxModelLen: 0,
    });
    expect(plan.problems.map((each) => each.code)).toEqual(["no_room"]);
    expect(plan.problems[0]?.message).toContain("(-1.75 GiB)");
  });
});

describe("another model on such a machine: state-space layers", () => {
  const pattern =
    "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME";
  const config = {
    num_hidden_layers: 88,
    hybrid_override_pattern: pattern,
    num_attention_heads: 32,
    num_key_value_heads: 2,
    head_dim: 128,
    mamba_num_heads: 128,
    mamba_head_dim: 64,
    ssm_state_size: 128,
    n_groups: 8,
    conv_kernel: 4,
    mamba_ssm_cache_dtype: "float32",
    num_nextn_predict_layers: 1,
  };

  it("utilization 0.72 left 14.79 GiB: 2.35 M tokens, 17.9x at 131,072", () => {
    // The log's figures are rounded; 466 blocks need 14.79004 GiB.
    const plan = kvPlan(
      modelShape(config),
      { kvCacheDtype: "fp8", maxModelLen: 131_072 },
      14.7901 * GIB,
    );
    expect(plan).toMatchObject({
      blockSize: 8320,
      blocksPerRequest: 26,
      numBlocks: 466,
      fits: true,
    });
    expect(plan.layers).toMatchObject({ full: 8, linear: 40, groups: 6, padding: 0 });
    expect([plan.maxConcurrency.toFixed(1), (plan.tokens / 1e6).toFixed(2)]).toEqual([
      "17.9",
      "2.35",
    ]);
    expect(plan.problems).toEqual([]);
  });

  it("the same layers in words make the same plan; the newer rule of gated delta nets does not touch them", () => {
    const words: Record<string, string> = { M: "mamba", "*": "attention", E: "moe" };
    const { hybrid_override_pattern: _, ...rest } = config;
    const inWords = {
      ...rest,
      layers_block_type: [...pattern].map((letter) => words[letter] ?? ""),
    };
    expect(modelShape(inWords)).toEqual(modelShape(config));
    const block = (vllmVersion: string) =>
      kvPlan(modelShape(config), { kvCacheDtype: "fp8", maxModelLen: 4096, vllmVersion }, GIB)
        .blockSize;
    expect([block("0.28.0"), block("0.33.0")]).toEqual([8320, 8320]);
  });

  it.each([
    [
      "a kind of its own",
      { hybrid_override_pattern: pattern.replace("*", "W") },
      "hybrid_override_pattern",
      "unknown_architecture",
    ],
    [
      "too few letters",
      { hybrid_override_pattern: "M*" },
      "hybrid_override_pattern",
      "impossible_value",
    ],
  ])("%s", (_, change, path, code) => {
    const run = () => modelShape({ ...config, ...change });
    expect(run).toThrow(
      expect.objectContaining({ faults: [expect.objectContaining({ path, code })] }),
    );
  });

  it("the state is float32 unless config or setting say otherwise", () => {
    const block = (change: object, mambaSsmCacheDtype?: "bfloat16") =>
      kvPlan(
        modelShape({ ...config, ...change }),
        { kvCacheDtype: "fp8", maxModelLen: 4096, mambaSsmCacheDtype },
        GIB,
      ).blockSize;
    expect(block({ mamba_ssm_cache_dtype: undefined })).toBe(8320);
    // 61,440 bytes of convolution and 2,097,152 of state: 16 x ceil(263.5).
    expect([block({ mamba_ssm_cache_dtype: "bfloat16" }), block({}, "bfloat16")]).toEqual([
      4224, 4224,
    ]);
  });

  it("half of its fields make it unknown, not a plain model", () => {
    expect(() => modelShape({ ...config, n_groups: undefined })).toThrow("Unknown architecture");
  });
});
