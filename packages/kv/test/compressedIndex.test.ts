import { readFileSync } from "node:fs";
import type { JsonObject } from "@local-serving/base/faults/json";
import { describe, expect, it } from "vitest";
import { kvPlan, modelShape } from "..";

const CONFIG = JSON.parse(
  readFileSync("models/local-inference-lab--Qwen3.8-Flash-Next-NVFP4/config.json", "utf8"),
) as {
  text_config: JsonObject;
};

const layers = (linear: number, full: number) => ({
  layer_types: [...Array(linear).fill("linear_attention"), ...Array(full).fill("full_attention")],
  num_hidden_layers: linear + full,
});

type Engine = Parameters<typeof kvPlan>[1];
type Figures = readonly [
  blockSize: number,
  bytesPerBlock: number,
  ofARequest: number,
  blocks: number,
  tokens: number,
];

/**
 * What vLLM 0.30.0's own classes made of such models, told that they run on a GB10: change of the
 * config, engine, GiB.
 */
const ROWS: readonly (readonly [
  what: string,
  change: JsonObject,
  engine: Engine,
  gib: number,
  figures: Figures,
])[] = [
  ["as it is", {}, {}, 20, [1568, 39_739_392, 30, 540, 589_824]],
  ["its whole window", {}, { maxModelLen: 262_144 }, 30, [1568, 39_739_392, 177, 810, 1_199_642]],
  ["no prefix caching", {}, { prefixCaching: false }, 20, [1568, 39_739_392, 26, 540, 680_566]],
  ["4 drafts", {}, { draftTokens: 4 }, 20, [1616, 44_368_896, 46, 484, 344_776]],
  ["6 drafts", {}, { draftTokens: 6 }, 20, [1632, 44_808_192, 54, 479, 290_664]],
  [
    "1 draft",
    {},
    { draftTokens: 1, maxModelLen: 100_000 },
    20,
    [1584, 43_490_304, 77, 493, 640_259],
  ],
  [
    "states in bf16",
    {},
    { mambaSsmCacheDtype: "bfloat16" },
    20,
    [800, 20_275_200, 50, 1059, 694_026],
  ],
  [
    "other n-grams",
    { ple_conv_kernel_size: 8, ngram_size: 5 },
    {},
    20,
    [1568, 39_739_392, 30, 540, 589_824],
  ],
  [
    "n-grams of a large state",
    { ple_conv_kernel_size: 64, ngram_size: 9 },
    {},
    20,
    [5680, 143_953_920, 15, 149, 325_495],
  ],
  [
    "3 layers of n-grams",
    { ple_layer_ids: [2, 3, 7] },
    {},
    20,
    [1568, 39_739_392, 30, 540, 589_824],
  ],
  [
    "30 layers of n-grams",
    { ple_layer_ids: Array.from({ length: 30 }, (_, index) => index + 1) },
    {},
    20,
    [1568, 39_739_392, 34, 540, 520_432],
  ],
  [
    "none of them, small states",
    { ple_layer_ids: [], linear_num_value_heads: 16 },
    { prefixCaching: false, draftTokens: 3 },
    20,
    [560, 15_375_360, 72, 1396, 635_335],
  ],
  ["keys of 8 tokens", { indexer_compress_ratio: 8 }, {}, 20, [1568, 39_137_280, 30, 548, 598_562]],
  [
    "narrow keys of 16 tokens",
    { indexer_compress_ratio: 16, indexer_head_dim: 64 },
    {},
    20,
    [1568, 38_685_696, 30, 555, 606_208],
  ],
  [
    "other heads",
    { num_key_value_heads: 4, head_dim: 128 },
    {},
    20,
    [1568, 39_739_392, 30, 540, 589_824],
  ],
  ["10 layers", layers(7, 3), {}, 3, [1568, 9_934_848, 30, 324, 353_894]],
  ["more full layers than linear ones", layers(2, 5), {}, 3, [1568, 16_558_080, 26, 194, 244_499]],
  ["80 layers", layers(40, 40), {}, 40, [1568, 132_464_640, 26, 324, 408_339]],
  ["113 layers", layers(80, 33), {}, 40, [1568, 109_283_328, 30, 393, 429_260]],
];

const shapeOf = (change: JsonObject) =>
  modelShape({ ...CONFIG, text_config: { ...CONFIG.text_config, ...change } });
const planOf = (change: JsonObject, engine: Engine, gib: number) =>
  kvPlan(shapeOf(change), { maxModelLen: 32_768, vllmVersion: "0.30.0", ...engine }, gib * 2 ** 30);

describe("a hybrid whose index keeps one key of several tokens", () => {
  it.each(ROWS)("%s: vLLM's own figures", (_, change, engine, gib, figures) => {
    const { blockSize, bytesPerBlock, blocksPerRequest, numBlocks, tokens, problems } = planOf(
      change,
      engine,
      gib,
    );
    expect([blockSize, bytesPerBlock, blocksPerRequest, numBlocks, tokens]).toEqual(figures);
    expect(problems).toEqual([]);
  });

  it("doesn't fit where vLLM finds no room for its window", () => {
    const plan = planOf(layers(3, 1), { maxModelLen: 262_144 }, 0.2);
    expect([plan.fits, plan.blocksPerRequest, plan.bytesPerRequest]).toEqual([
      false,
      177,
      586_156_032,
    ]);
  });

  it("counts a token's keys and values, and its share of a key of the index", () => {
    const {
      bytesPerToken,
      constantBytesPerRequest,
      bytesPerBlock,
      layers: counted,
    } = planOf({}, {}, 20);
    expect(bytesPerToken).toBe(12 * (2048 + 128 * 2 * (1 / 4)));
    // Two states in each of three groups and in that of the n-grams, and the keys that wait.
    expect(constantBytesPerRequest).toBe((3 * 2 + 2 + 1) * bytesPerBlock);
    expect(counted).toMatchObject({ full: 12, linear: 36, groups: 6 });
  });

  it("is refused with another cache than bf16 up to 0.30, and takes fp8 from 0.32 on", () => {
    expect(() => planOf({}, { kvCacheDtype: "fp8" }, 20)).toThrow(
      "vLLM 0.30.0 has no fp8 KV cache for sparse attention whose index compresses keys; use bfloat16.",
    );
    expect(planOf({}, { kvCacheDtype: "bfloat16" }, 20).numBlocks).toBe(540);
    expect(() =>
      planOf({}, { kvCacheDtype: "int8_per_token_head", vllmVersion: "0.33.0" }, 20),
    ).toThrow(
      "vLLM 0.33.0 has no int8_per_token_head KV cache for sparse attention whose index compresses keys; use bfloat16 or fp8 or fp8_e4m3.",
    );
    expect(planOf({}, { kvCacheDtype: "fp8", vllmVersion: "0.32.0" }, 20).fits).toBe(true);
  });

  it.each([
    ["bf16", {}, [1600, 40_550_400, 34, 529, 509_831]],
    ["fp8", { kvCacheDtype: "fp8" }, [3136, 40_943_616, 24, 524, 715_434]],
  ] as const)(
    "%s: the figures of vLLM 0.33.0, which has other blocks and a state more",
    (_, engine, figures) => {
      const plan = planOf({}, { ...engine, vllmVersion: "0.33.0" }, 20);
      expect([
        plan.blockSize,
        plan.bytesPerBlock,
        plan.blocksPerRequest,
        plan.numBlocks,
        plan.tokens,
      ]).toEqual(figures);
    },
  );

  it("is refused with drafts that its waiting keys don't divide a block by, and the advice passes", () => {
    expect(() => planOf({}, { draftTokens: 8 }, 20)).toThrow(
      "With 8 draft tokens, the keys of 12 tokens are compressed together. That number doesn't divide a block of 1648 tokens, so vLLM stops; use at most 4.",
    );
    for (const draftTokens of [1, 2, 3, 4]) expect(planOf({}, { draftTokens }, 20).fits).toBe(true);
  });

  it.each([
    ["no width of a key", { indexer_head_dim: null }, "indexer_head_dim: This field is required."],
    [
      "two keys a token",
      { indexer_kv_heads: 2 },
      "indexer_kv_heads: vLLM selects by one key per token: write 1.",
    ],
    [
      "a ratio that divides no block",
      { indexer_compress_ratio: 12 },
      "12 tokens don't divide a block.",
    ],
    [
      "no linear layers",
      layers(0, 4),
      "its index compresses keys, which vLLM only supports in hybrids with linear layers.",
    ],
    [
      "no ratio",
      { indexer_compress_ratio: null },
      "indexer_head_dim: Unknown architecture: This field means sparse",
    ],
  ])("is refused with %s", (_, change, words) => {
    expect(() => shapeOf(change)).toThrow(words);
  });
});
