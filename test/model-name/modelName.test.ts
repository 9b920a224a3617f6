import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  makesNoCalls,
  namedWeights,
  onEachGpu,
  readModelName,
  withoutOrganization,
} from "../../components/memory/model-name/modelName";

/**
 * Public models with the size of their weights in GB: of `models/` by the recipe there, of others by
 * their number of parameters in vllm-project/recipes 8959cf64 or on their cards, at the bits that
 * their files have.
 */
const KNOWN: readonly (readonly [id: string, gb: number])[] = [
  ["Intel/Qwen3.5-122B-A10B-int4-AutoRound", 67],
  ["Intel/Qwen3.5-397B-A17B-int4-AutoRound", 199],
  ["Qwen/Qwen3-235B-A22B-GPTQ-Int4", 118],
  ["Qwen/Qwen3-Embedding-0.6B", 1.2],
  ["Qwen/Qwen3-Reranker-0.6B", 1.2],
  ["Qwen/Qwen3.6-35B-A3B-FP8", 35],
  ["deepseek-ai/DeepSeek-V4-Flash-0731", 167],
  ["mistralai/Mistral-Small-4-119B-2603-NVFP4", 66],
  ["nvidia/Gemma-4-26B-A4B-NVFP4", 16],
  ["nvidia/Gemma-4-31B-IT-NVFP4", 19],
  ["nvidia/Llama-3.3-70B-NVFP4", 40],
  ["nvidia/MiniMax-M2.7-NVFP4", 138],
  ["nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4", 18],
  ["nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4", 69.5],
  ["nvidia/Qwen3.6-35B-A3B-NVFP4", 22],
  ["openai/gpt-oss-120b", 61],
  ["openai/gpt-oss-20b", 13.8],
  ["saricles/Qwen3-Coder-Next-NVFP4-GB10", 44.8],
  ["stepfun-ai/Step-3.7-Flash-FP8", 198],
  ["stepfun-ai/Step-3.7-Flash-NVFP4", 129],
  ["Qwen/Qwen3.5-397B-A17B-FP8", 397],
  ["Qwen/Qwen3-8B", 16.4],
  ["Qwen/Qwen3-32B", 65.5],
  ["Qwen/Qwen3-32B-FP8", 32.8],
  ["Qwen/Qwen3-30B-A3B", 61],
  ["Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", 480],
  ["Qwen/Qwen3-Next-80B-A3B-Instruct", 160],
  ["Qwen/Qwen2.5-VL-72B-Instruct", 146],
  ["Qwen/Qwen2.5-7B-Instruct-1M", 15.2],
  ["meta-llama/Llama-3.1-8B-Instruct", 16.1],
  ["meta-llama/Llama-3.2-1B-Instruct", 2.46],
  ["meta-llama/Llama-2-7b-hf", 13.5],
  ["meta-llama/Llama-2-70b-hf", 138],
  ["meta-llama/Llama-4-Scout-17B-16E-Instruct", 217],
  ["mistralai/Mixtral-8x7B-Instruct-v0.1", 93.4],
  ["mistralai/Mixtral-8x22B-v0.1", 281],
  ["mistralai/Devstral-2-123B-Instruct-2512", 128],
  ["mistralai/Mistral-Large-3-675B-Instruct-2512", 675],
  ["google/gemma-4-12B-it", 24],
  ["google/gemma-3-27b-it", 54.9],
  ["deepseek-ai/DeepSeek-R1-0528", 685],
  ["deepseek-ai/DeepSeek-R1-Distill-Llama-70B", 141],
  ["nvidia/DeepSeek-V3.1-NVFP4", 403],
  ["moonshotai/Kimi-K2-Thinking", 594],
  ["MiniMaxAI/MiniMax-M2.5", 230],
  ["zai-org/GLM-4.6-FP8", 357],
  ["zai-org/GLM-5", 1488],
  ["XiaomiMiMo/MiMo-V2-Flash", 309],
  ["unsloth/Qwen3-14B-bnb-4bit", 10],
  ["RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8", 9.1],
  ["mlx-community/Qwen3-235B-A22B-4bit", 132],
  ["LiquidAI/LFM2.5-350M", 0.71],
  ["google/gemma-4-E2B-it", 10],
  ["google/gemma-4-E4B-it", 16],
  ["inclusionAI/Ling-2.6-flash", 208],
  ["poolside/Laguna-S-2.1-NVFP4", 68],
  ["poolside/Laguna-XS-2.1-FP8", 33],
  ["thinkingmachines/Inkling-Small-NVFP4", 156],
  ["microsoft/Phi-4-mini-instruct", 8],
  ["microsoft/phi-4", 29.3],
  ["mistralai/Devstral-Small-2507", 47.1],
  ["mistralai/Magistral-Small-2509", 48],
  ["mistralai/Mistral-Large-Instruct-2411", 245],
  ["zai-org/GLM-4.5-Air-FP8", 113],
  ["ibm-granite/granite-4.0-h-small", 64.4],
  ["CohereLabs/c4ai-command-a-03-2025", 222],
  ["ai21labs/AI21-Jamba-Mini-1.7", 103],
  ["deepseek-ai/DeepSeek-V2-Lite-Chat", 31.4],
  ["RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", 72.7],
  ["mistralai/Mistral-Nemo-Instruct-2407", 24.5],
];

/** Ids that leave the size open: of a part, of effective or active parameters, or of none. */
const OPEN: readonly string[] = [
  "BAAI/bge-m3",
  "google/gemma-3n-E4B-it",
  "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8",
  "org/Inkling-Small-REAP-50",
  "tencent/Hunyuan-Large-A13B",
  "yuhuili/EAGLE3-LLaMA3.3-Instruct-70B",
  "org/Qwen3-32B-lora",
  "org/GLM-4.7-REAP-50-W4A16",
  "zai-org/GLM-4.7-Flash",
  "unsloth/Qwen3-32B-GGUF",
  "org/Qwen3-32B-quantized",
  "trl-internal-testing/tiny-random-Llama-7B",
  "gpt2",
  "/models/m",
  "",
];

/** Public models of fewer than 8 bits, with the size of their files in GB. */
const FEWER_BITS: readonly (readonly [id: string, gb: number])[] = [
  ["Qwen/Qwen3-4B-AWQ", 2.67],
  ["Qwen/Qwen3-8B-AWQ", 6.1],
  ["Qwen/Qwen3-14B-AWQ", 9.96],
  ["Qwen/Qwen3-32B-AWQ", 19.3],
  ["unsloth/Qwen3-14B-bnb-4bit", 10],
  ["unsloth/Llama-3.3-70B-Instruct-bnb-4bit", 39.5],
  ["unsloth/Devstral-Small-2507-bnb-4bit", 14.6],
  ["RedHatAI/Qwen3-32B-quantized.w4a16", 19.3],
  ["cpatonn/Qwen3-Coder-30B-A3B-Instruct-AWQ-4bit", 16.9],
  ["cyankiwi/GLM-4.5-Air-AWQ-4bit", 64],
  ["TheBloke/Mistral-7B-Instruct-v0.2-GPTQ", 4.16],
  ["bartowski/Meta-Llama-3.1-8B-Instruct-GGUF:Q4_K_M", 4.92],
  ["nvidia/Llama-3.3-70B-NVFP4", 40],
  ["nvidia/Qwen3.6-35B-A3B-NVFP4", 22],
  ["openai/gpt-oss-20b", 13.8],
  ["openai/gpt-oss-120b", 61],
];

describe("a model's id", () => {
  it.each(FEWER_BITS)("tells about what weights of fewer bits take: %s", (id, gb) => {
    const { gb: least = 0, aboutGiB = 0 } = namedWeights(id) ?? {};
    expect(least).toBeLessThanOrEqual(gb);
    expect(Math.abs(aboutGiB * 1.073741824 - gb)).toBeLessThan(gb / 3);
  });

  it.each(KNOWN)("weighs %s from below", (id, gb) => {
    const read = namedWeights(id)?.gb ?? 0;
    expect(read).toBeLessThanOrEqual(gb);
    expect(read).toBeGreaterThan(gb / 2);
  });

  it("is within a third of most", () => {
    const near = KNOWN.filter(([id, gb]) => (namedWeights(id)?.gb ?? 0) >= (gb * 2) / 3);
    expect(near.length).toBeGreaterThanOrEqual(KNOWN.length - 3);
  });

  it.each(OPEN)("says nothing of the weights: %s", (id) => {
    expect(namedWeights(id)).toBeUndefined();
  });

  it("says where the size is from", () => {
    expect(namedWeights("Qwen/Qwen3.5-397B-A17B-FP8")).toEqual({
      gb: expect.closeTo(383.1, 1),
      gib: expect.closeTo(356.8, 1),
      aboutGiB: expect.closeTo(369.7, 1),
      source: "397B parameters of 8 bits, by its name",
    });
    expect(namedWeights("zai-org/GLM-5-FP8")?.source).toBe(
      "743B parameters of 8 bits, by its name and vllm-project/recipes 8959cf64",
    );
  });

  it.each([
    // The model cards: 46.7, 140.6 and, of Phi-3.5-MoE, 42 billion.
    ["mistralai/Mixtral-8x7B-Instruct-v0.1", 93.4, "8x7B, about 45B parameters of 16 bits"],
    ["mistralai/Mixtral-8x22B-Instruct-v0.1", 281.2, "8x22B, about 141B parameters of 16 bits"],
    ["org/M-16x3.8B", 84, "16x3.8B, about 49B parameters of 16 bits"],
  ])("knows that experts share their attention: %s", (id, gb, said) => {
    const read = namedWeights(id);
    expect(read?.source).toBe(`${said}, by its name`);
    expect(read?.gb).toBeLessThan(gb);
    expect(Math.abs((read?.aboutGiB ?? 0) * 1.073741824 - gb)).toBeLessThan(gb / 5);
  });

  it("says no more than the least where several numbers stand", () => {
    expect(namedWeights("allenai/OLMoE-1B-7B-0924")).not.toHaveProperty("aboutGiB");
    expect(namedWeights("Qwen/Qwen3-8B")?.aboutGiB).toBeCloseTo(14.9, 1);
  });

  it("takes no more than the size that it names itself", () => {
    const id = "nvidia/NVIDIA-Nemotron-3.5-Bolt-74B-A9B-24GB";
    expect(namedWeights(id)?.gb).toBeCloseTo(22.3, 1);
  });

  it.each([
    ["org/M-8B-Q4_K_M-GGUF", 4, true],
    ["org/M-8B-GGUF:UD-IQ2_XXS", 2, true],
    ["org/M-8B-GGUF:Q8_0", 8, true],
    ["org/M-8B-FP8-GGUF", undefined, true],
    ["org/gpt-oss-8b-MXFP4-GGUF", undefined, true],
    ["org/M-8B-NVFP4-FP8", 4.5, false],
    ["org/M-8B-AWQ", 4.125, false],
    ["org/M-8B-AWQ-8bit", 8, false],
    ["org/M-8B-FP8-KV", 8, false],
    ["org/M-8B-exl3-3.5bpw", 3.5, false],
    ["org/M-8B", 16, false],
    ["org/M-8B-MLX", undefined, false],
  ])("tells bits and form: %s", (id, bits, gguf) => {
    expect(readModelName(id)).toEqual({
      kind: "chat",
      billions: 8,
      gguf,
      ...(bits === undefined ? {} : { bits }),
    });
  });

  it.each([
    ["BAAI/bge-m3", "embedding"],
    ["BAAI/bge-reranker-v2-m3", "rerank"],
    ["intfloat/multilingual-e5-large", "embedding"],
    ["Alibaba-NLP/gte-Qwen2-7B-instruct", "embedding"],
    ["sentence-transformers/all-MiniLM-L6-v2", "embedding"],
    ["cross-encoder/ms-marco-MiniLM-L6-v2", "rerank"],
    ["google/embeddinggemma-300m", "embedding"],
    ["EmbeddedLLM/Inkling-Small-MXFP4", "chat"],
    ["Qwen/Qwen3Guard-Gen-8B", "guard"],
    ["Qwen/Qwen3-VL-8B-Instruct", "vision"],
    ["zai-org/GLM-4.5V", "vision"],
    ["deepseek-ai/DeepSeek-OCR", "vision"],
    ["openai/whisper-large-v3", "transcription"],
    ["distil-whisper/distil-large-v3.5", "transcription"],
    ["Qwen/Qwen3-ASR-1.7B", "transcription"],
    ["mistralai/Voxtral-Small-24B-2507", "audio"],
    ["Qwen/Qwen2-Audio-7B-Instruct", "audio"],
    ["Qwen/Qwen3-Omni-30B-A3B-Instruct", "vision"],
    ["meta-llama/Llama-Prompt-Guard-2-86M", "classifier"],
    ["Skywork/Skywork-Reward-V2-Llama-3.1-8B", "classifier"],
    ["cardiffnlp/twitter-roberta-base-sentiment", "classifier"],
    ["google/shieldgemma-9b", "guard"],
    ["meta-llama/Llama-Guard-4-12B", "guard"],
    ["hexgrad/Kokoro-82M", "speech"],
    ["OpenMOSS-Team/MOSS-TTS", "speech"],
    ["Qwen/Qwen-Image", "pictures"],
    ["Qwen/Qwen-Image-Edit-2511", "pictures"],
    ["Tongyi-MAI/Z-Image-Turbo", "pictures"],
    ["Wan-AI/Wan2.2-T2V-A14B-Diffusers", "pictures"],
    ["Wan-AI/Wan2.2-TI2V-5B", "pictures"],
    ["nvidia/Cosmos3-Super-Text2Image", "pictures"],
    ["stabilityai/stable-diffusion-3.5-medium", "pictures"],
    ["black-forest-labs/FLUX.2-dev", "pictures"],
    ["org/Image-Captioner-7B", "chat"],
    ["image/Model-7B", "chat"],
    ["org/Imagen-Chat-7B", "chat"],
    ["org/DiffusionGemma-26B", "chat"],
    ["openai/gpt-oss-20b", "chat"],
  ])("tells the kind: %s is for %s", (id, kind) => {
    expect(readModelName(id).kind).toBe(kind);
  });

  it("never throws, and weighs nothing as less than nothing", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        const named = namedWeights(`${one}/${other}`);
        readModelName(one);
        return named === undefined || named.gb > 0;
      }),
    );
  });

  it("is never above the parameters that it names, at the bits of its words", () => {
    const words = [
      ["", 16],
      ["FP8", 8],
      ["NVFP4", 4.5],
      ["AWQ", 4.125],
    ] as const;
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2000 }),
        fc.constantFrom(...words),
        (size, [word, bits]) => {
          const id = `org/Model-${size}B-${word}`;
          return (namedWeights(id)?.gb ?? 0) <= (size * bits) / 8;
        },
      ),
    );
  });

  it("means the same in any order of its words", () => {
    const words = ["Some", "32B", "A3B", "Instruct", "FP8", "1M", "2507"];
    const expected = namedWeights(`org/${words.join("-")}`);
    expect(expected?.gb).toBeCloseTo(30.9, 1);
    fc.assert(
      fc.property(fc.shuffledSubarray(words, { minLength: words.length }), (mixed) => {
        expect(namedWeights(`org/${mixed.join("-")}`)).toEqual(expected);
      }),
    );
  });

  it("is divided among ranks, and made smaller by quantization of 16 bits alone", () => {
    const full = { gb: 64, gib: 60, aboutGiB: 62, source: "it" };
    expect(onEachGpu(full, { id: "org/M-32B", quantization: "fp8", gpus: 2 })).toEqual({
      gb: 16,
      gib: 15,
      aboutGiB: 15.5,
      source: "it, with --quantization fp8, on each of 2 ranks",
    });
    expect(onEachGpu(full, { id: "org/M-32B-FP8", quantization: "fp8", gpus: 1 })).toEqual(full);
  });
});

describe("a folder of the machine", () => {
  it.each([
    ["/models/Qwen3.5-397B-A17B-FP8", "Qwen/Qwen3.5-397B-A17B-FP8"],
    ["~/m/Qwen3-32B/", "Qwen/Qwen3-32B"],
    ["/c/hub/models--Qwen--Qwen3-32B/snapshots/abc", "Qwen/Qwen3-32B"],
  ])("is weighed as the id that it is called by: %s", (folder, id) => {
    expect(namedWeights(folder)).toEqual(namedWeights(id));
    expect(namedWeights(folder)).toBeDefined();
  });
});

describe("bits that a word of several says", () => {
  it("are none that could be told", () => {
    expect(namedWeights("/m/Qwen3.5-122B-A10B-hybrid-int4fp8")).toBeUndefined();
    expect(namedWeights("a/M-8B-fp16")).toBeDefined();
  });
});

describe("types of llama.cpp's files", () => {
  it.each(["a/M-8B-Q4_K_M", "M-8B-IQ4_XS", "a/M-UD-Q4_K_XL", "a/M-i1-Q6_K", "a/M-q8_0"])(
    "say GGUF without the word: %s",
    (id) => {
      expect(readModelName(id).gguf).toBe(true);
    },
  );

  it.each(["a/M-8B-FP8", "a/M-W4A16", "a/M-Q", "a/Qwen3-8B", "a/M-mlx-q4"])(
    "are in no other name: %s",
    (id) => {
      expect(readModelName(id).gguf).toBe(false);
    },
  );
});

describe("a name without an organisation", () => {
  it("is told what it lacks, unless it is a folder or one of the hub's first models", () => {
    expect(withoutOrganization("Meta-Llama-3-8B")).toBe(
      "Meta-Llama-3-8B is no id of the hub, which has an organisation in front (ORG/Meta-Llama-3-8B), and no folder either: write the whole id, or the folder's path.",
    );
    for (const id of ["a/b", "/m", "~/m", "./m", "gpt2", "bert-base-uncased"])
      expect(withoutOrganization(id)).toBeUndefined();
  });
});

describe("models without tool calls", () => {
  it("are told by their names", () => {
    const ids = ["BAAI/bge-m3", "a/Llama-Guard-4-12B", "openai/whisper-1", "a/X-reranker"];
    expect(ids.map(makesNoCalls)).toEqual([true, true, true, true]);
    expect(["Qwen/Qwen3-8B", "a/Qwen3-VL-8B", "a/Qwen2-Audio"].map(makesNoCalls)).toEqual([
      ...[false, false, false],
    ]);
  });
});
