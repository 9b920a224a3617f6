import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { kvPlan, modelShape } from "@local-serving/kv";
import { describe, expect, it } from "vitest";

const MODELS = join(__dirname, "../../models");

type Figures = readonly [
  blockSize: number,
  bytesPerBlock: number,
  ofARequest: number,
  blocks: number,
  tokens: number,
];
/** The plan of vLLM 0.30.0 and 0.33.0, or of each where they differ. */
type Row = readonly [model: string, both: Figures, newer?: Figures];

/**
 * Plans for the models of the repository: 20 GiB, fp8, one request of 32,768 tokens, 4 sequences,
 * batches of 8,192 tokens. vLLM's own classes gave the same (`test/real/kv` compares them), but for
 * Qwen3-VL-8B and Step-3.7, about which they give no answer, and for models that they were not
 * asked about, whose geometry is that of one above.
 */
const ROWS: readonly Row[] = [
  ["Inferact--Muse-Glimmer-30B-NVFP4-W4A4", [16, 106_496, 5507, 201_649, 1_199_860]],
  [
    "Intel--Qwen3.5-122B-A10B-int4-AutoRound",
    [4176, 51_314_688, 14, 418, 978_358],
    [4224, 51_904_512, 17, 413, 796_069],
  ],
  ["Qwen--Qwen3-30B-A3B-FP8", [16, 786_432, 2048, 27_306, 436_896]],
  ["Qwen--Qwen3-32B-FP8", [16, 2_097_152, 2048, 10_240, 163_840]],
  ["Qwen--Qwen3-VL-8B-Instruct", [16, 1_179_648, 2048, 18_204, 291_264]],
  [
    "Qwen--Qwen3.5-122B-A10B",
    [4176, 51_314_688, 14, 418, 978_358],
    [4224, 51_904_512, 17, 413, 796_069],
  ],
  [
    "Qwen--Qwen3.5-397B-A17B",
    [4176, 64_143_360, 14, 334, 781_750],
    [4224, 64_880_640, 17, 330, 636_084],
  ],
  [
    "Intel--Qwen3.5-397B-A17B-int4-AutoRound",
    [4176, 64_143_360, 14, 334, 781_750],
    [4224, 64_880_640, 17, 330, 636_084],
  ],
  [
    "Qwen--Qwen3.6-35B-A3B-FP8",
    [2096, 21_463_040, 22, 1000, 1_489_454],
    [2112, 21_626_880, 25, 992, 1_300_234],
  ],
  ["cyankiwi--GLM-4.7-Flash-AWQ-4bit", [16, 433_152, 2048, 49_578, 793_248]],
  ["mistralai--Mistral-Small-4-119B-2603-NVFP4", [16, 184_320, 2048, 116_508, 1_864_128]],
  ["nvidia--DeepSeek-V4-Flash-NVFP4", [256, 1_002_240, 6810, 21_426, 103_096]],
  ["deepseek-ai--DeepSeek-V4-Flash-0731", [256, 1_002_240, 6810, 21_426, 103_096]],
  ["nvidia--Gemma-4-26B-A4B-NVFP4", [16, 327_680, 6469, 65_536, 331_965]],
  ["nvidia--Gemma-4-31B-IT-NVFP4", [16, 1_310_720, 6469, 16_384, 82_991]],
  ["nvidia--Llama-3.3-70B-NVFP4", [16, 2_621_440, 2048, 8192, 131_072]],
  ["nvidia--MiniMax-M2.7-NVFP4", [16, 2_031_616, 2048, 10_570, 169_120]],
  ["saricles--MiniMax-M2.7-NVFP4-GB10", [16, 2_031_616, 2048, 10_570, 169_120]],
  [
    "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4",
    [4176, 12_828_672, 16, 1673, 3_426_304],
    [4176, 12_828_672, 20, 1673, 2_741_043],
  ],
  [
    "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4",
    [8320, 34_078_720, 14, 630, 1_474_560],
    [8320, 34_078_720, 19, 630, 1_086_517],
  ],
  [
    "nvidia--NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4",
    [4176, 12_828_672, 16, 1673, 3_426_304],
    [4176, 12_828_672, 20, 1673, 2_741_043],
  ],
  ["nvidia--Qwen3-235B-A22B-NVFP4", [16, 1_540_096, 2048, 13_943, 223_088]],
  ["Qwen--Qwen3-235B-A22B-GPTQ-Int4", [16, 1_540_096, 2048, 13_943, 223_088]],
  [
    "nvidia--Qwen3.5-122B-A10B-NVFP4",
    [4176, 51_314_688, 14, 418, 978_358],
    [4224, 51_904_512, 17, 413, 796_069],
  ],
  [
    "nvidia--Qwen3.6-27B-NVFP4",
    [1568, 51_380_224, 27, 417, 506_083],
    [1600, 52_428_800, 30, 409, 446_737],
  ],
  [
    "nvidia--Qwen3.6-35B-A3B-NVFP4",
    [2096, 21_463_040, 22, 1000, 1_489_454],
    [2112, 21_626_880, 25, 992, 1_300_234],
  ],
  [
    "nvidia--Qwen3.8-27B-NVFP4",
    [1568, 51_380_224, 27, 417, 506_083],
    [1600, 52_428_800, 30, 409, 446_737],
  ],
  ["openai--gpt-oss-120b", [16, 294_912, 3081, 72_817, 774_445]],
  ["openai--gpt-oss-20b", [16, 196_608, 3081, 109_226, 1_161_673]],
  [
    "saricles--Qwen3-Coder-Next-NVFP4-GB10",
    [1072, 13_172_736, 37, 1630, 1_443_563],
    [1088, 13_369_344, 40, 1606, 1_315_635],
  ],
  ["stepfun-ai--Step-3.7-Flash-FP8", [16, 393_216, 5219, 54_613, 342_893]],
  ["stepfun-ai--Step-3.7-Flash-NVFP4", [16, 393_216, 5219, 54_613, 342_893]],
  ["zai-org--GLM-5.2-FP8", [64, 3_452_160, 512, 6220, 398_080]],
];

function planOf(model: string, engine: Parameters<typeof kvPlan>[1], bytes: number) {
  return kvPlan(
    modelShape(JSON.parse(readFileSync(join(MODELS, model, "config.json"), "utf8"))),
    engine,
    bytes,
  );
}

const ENGINE = {
  kvCacheDtype: "fp8",
  maxModelLen: 32_768,
  maxNumSeqs: 4,
  maxNumBatchedTokens: 8192,
} as const;
const ROOM = 20 * 2 ** 30;

describe("plans for the models of the repository", () => {
  const rows = ROWS.map(([model, both, newer = both]) => [model, both, newer] as const);

  it.each(rows)("%s: blocks, bytes and tokens of both versions", (model, both, newer) => {
    for (const [vllmVersion, figures] of [
      ["0.30.0", both],
      ["0.33.0", newer],
    ] as const) {
      const plan = planOf(model, { ...ENGINE, vllmVersion }, ROOM);
      const { blockSize, bytesPerBlock, blocksPerRequest, numBlocks, tokens } = plan;
      expect([blockSize, bytesPerBlock, blocksPerRequest, numBlocks, tokens]).toEqual(figures);
    }
  });

  it("are all there but one that has no fp8 cache (`compressedIndex.test.ts`), one that has no plan, and those that write no text", () => {
    const folders = readdirSync(MODELS, { withFileTypes: true }).filter((each) =>
      each.isDirectory(),
    );
    const missing = folders
      .map(({ name }) => name)
      .filter((name) => !ROWS.some(([model]) => model === name));
    expect(missing.sort()).toEqual([
      "Qwen--Qwen3-Embedding-0.6B",
      "Qwen--Qwen3-Reranker-0.6B",
      "Qwen--Qwen3-VL-Embedding-8B",
      "local-inference-lab--GLM-5.3-Flash-NVFP4",
      "local-inference-lab--Qwen3.8-Flash-Next-NVFP4",
    ]);
  });

  it.each([
    ["zai-org--GLM-5.2-FP8", [64, 3_502_592, 512, 6131, 392_384]],
    ["nvidia--DeepSeek-V4-Flash-NVFP4", [256, 1_002_240, 6810, 21_426, 103_096]],
  ] as const)("%s with a draft layer", (model, figures) => {
    const plan = planOf(model, { ...ENGINE, draftTokens: 2 }, ROOM);
    const { blockSize, bytesPerBlock, blocksPerRequest, numBlocks, tokens } = plan;
    expect([blockSize, bytesPerBlock, blocksPerRequest, numBlocks, tokens]).toEqual(figures);
    expect(plan.layers.draft).toBe(1);
  });

  it.each(["zai-org--GLM-5.2-FP8", "nvidia--DeepSeek-V4-Flash-NVFP4"])(
    "%s packs its vectors with their scales: fp8 by itself, and nothing else",
    (model) => {
      expect(planOf(model, { ...ENGINE, kvCacheDtype: "auto" }, ROOM).kvCacheDtype).toBe("fp8");
      expect(() => planOf(model, { ...ENGINE, kvCacheDtype: "bfloat16" }, ROOM)).toThrow(
        "vLLM has no bfloat16 KV cache for sparse attention on a GB10; use fp8 or auto.",
      );
    },
  );

  it("of layers that differ are compared with 0.30 and later alone", () => {
    const codes = (model: string, vllmVersion: string) =>
      planOf(model, { ...ENGINE, vllmVersion }, ROOM).problems.map(({ code }) => code);
    expect(codes("nvidia--Gemma-4-26B-A4B-NVFP4", "0.28.0")).toEqual(["unchecked_version"]);
    expect(codes("nvidia--Gemma-4-26B-A4B-NVFP4", "0.30.0")).toEqual([]);
    expect(codes("nvidia--MiniMax-M2.7-NVFP4", "0.28.0")).toEqual([]);
  });

  it.each([
    [
      "a ratio that vLLM has no kernel for",
      { compress_ratios: Array(43).fill(16) },
      "compress_ratios.0",
    ],
    ["fewer ratios than layers", { compress_ratios: [0, 4] }, "compress_ratios"],
    ["heads of another width", { head_dim: 256 }, "head_dim"],
    ["no window", { sliding_window: null }, "sliding_window"],
  ])("are refused for %s", (_, change, path) => {
    const config = JSON.parse(
      readFileSync(join(MODELS, "nvidia--DeepSeek-V4-Flash-NVFP4/config.json"), "utf8"),
    );
    expect(() => modelShape({ ...config, ...change })).toThrow(
      expect.objectContaining({
        faults: expect.arrayContaining([expect.objectContaining({ path })]),
      }),
    );
  });

  it("are refused where a layer in numbers is another kind, and where an index has no width", () => {
    const config = (model: string) =>
      JSON.parse(readFileSync(join(MODELS, model, "config.json"), "utf8"));
    const other = {
      ...config("nvidia--MiniMax-M2.7-NVFP4"),
      attn_type_list: [0, ...Array(61).fill(1)],
    };
    expect(() => modelShape(other)).toThrow(
      "attn_type_list: Unknown architecture: This field means another way",
    );
    const { index_head_dim: _, ...bare } = config("zai-org--GLM-5.2-FP8");
    expect(() => modelShape(bare)).toThrow("index_head_dim: This field is required.");
  });
});
