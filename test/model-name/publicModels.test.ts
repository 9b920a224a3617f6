import { describe, expect, it } from "vitest";
import { namedWeights } from "../../components/memory/model-name/modelName";

/**
 * Forty ids of public catalogues. Billions of parameters are those that the models' cards give; what
 * their weights take is computed here from them and from the bits that their files have (in 16 bits
 * where the files are of 32: vLLM loads them so). Sizes that a card or an index gives stand as `gb`.
 */
const PUBLIC: readonly (readonly [
  id: string,
  of: { billions?: number; bits?: number; gb?: number },
])[] = [
  ["Qwen/Qwen2.5-14B-Instruct", { billions: 14.77 }],
  ["Qwen/QwQ-32B", { billions: 32.76 }],
  ["Qwen/Qwen3-4B-Instruct-2507", { billions: 4.02 }],
  ["Qwen/Qwen3-Coder-30B-A3B-Instruct", { billions: 30.53 }],
  ["Qwen/Qwen3-VL-235B-A22B-Instruct-FP8", { billions: 235.8, bits: 8 }],
  ["Qwen/Qwen3-Omni-30B-A3B-Instruct", { billions: 35.3 }],
  ["Qwen/Qwen2.5-Coder-32B-Instruct-AWQ", { gb: 19.3 }],
  ["Qwen/Qwen3-Embedding-4B", { billions: 4.02 }],
  ["Qwen/Qwen3-Reranker-8B", { billions: 7.57 }],
  ["Alibaba-NLP/gte-Qwen2-7B-instruct", { billions: 7.61 }],
  ["intfloat/e5-mistral-7b-instruct", { billions: 7.11 }],
  ["meta-llama/Llama-3.1-405B-Instruct-FP8", { billions: 405.9, bits: 8 }],
  ["meta-llama/Llama-3.2-11B-Vision-Instruct", { billions: 10.67 }],
  ["meta-llama/Llama-Guard-3-8B", { billions: 8.03 }],
  ["RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", { billions: 70.55, bits: 8 }],
  ["hugging-quants/Meta-Llama-3.1-70B-Instruct-GPTQ-INT4", { gb: 39.8 }],
  ["casperhansen/llama-3-70b-instruct-awq", { gb: 39.8 }],
  ["nvidia/Llama-3.1-405B-Instruct-NVFP4", { billions: 405.9, bits: 4.5 }],
  ["NousResearch/Hermes-3-Llama-3.1-8B", { billions: 8.03 }],
  ["mistralai/Mistral-7B-Instruct-v0.3", { billions: 7.25 }],
  ["mistralai/Mistral-Small-3.2-24B-Instruct-2506", { billions: 24.01 }],
  ["mistralai/Devstral-Small-2-24B-Instruct-2512", { billions: 24.01, bits: 8 }],
  ["mistralai/Codestral-22B-v0.1", { billions: 22.25 }],
  ["deepseek-ai/DeepSeek-V3.2", { billions: 685, bits: 8 }],
  ["deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", { billions: 32.76 }],
  ["zai-org/GLM-4-32B-0414", { billions: 32.57 }],
  ["zai-org/GLM-4.6", { billions: 357 }],
  ["MiniMaxAI/MiniMax-M2", { billions: 230, bits: 8 }],
  ["moonshotai/Kimi-K2-Instruct-0905", { billions: 1026, bits: 8 }],
  ["moonshotai/Moonlight-16B-A3B-Instruct", { billions: 15.96 }],
  ["google/gemma-2-9b-it", { billions: 9.24 }],
  ["google/gemma-3-12b-it", { billions: 12.19 }],
  ["nvidia/NVIDIA-Nemotron-Nano-9B-v2", { billions: 8.89 }],
  ["openai/gpt-oss-safeguard-20b", { gb: 13.8 }],
  ["ibm-granite/granite-3.3-8b-instruct", { billions: 8.17 }],
  ["LGAI-EXAONE/EXAONE-4.0-32B", { billions: 32 }],
  ["tencent/Hunyuan-A13B-Instruct", { billions: 80.4 }],
  ["ByteDance-Seed/Seed-OSS-36B-Instruct", { billions: 36.15 }],
  ["OpenGVLab/InternVL3-78B", { billions: 78.4 }],
  ["bigcode/starcoder2-15b", { billions: 15.96 }],
  ["microsoft/phi-4", { billions: 14.66 }],
  ["CohereLabs/c4ai-command-a-03-2025", { billions: 111.1 }],
  ["deepseek-ai/DeepSeek-V2-Lite-Chat", { billions: 15.71 }],
];

/** Ids of the same catalogues that don't say how large their models are. */
const OPEN = [
  "ai21labs/AI21-Jamba-1.5-Mini",
  "MiniMaxAI/MiniMax-Text-01",
  "moonshotai/Kimi-VL-A3B-Instruct",
  "BAAI/bge-large-en-v1.5",
  "nvidia/NV-Embed-v2",
];

const sizeOf = ({ billions = 0, bits = 16, gb }: (typeof PUBLIC)[number][1]): number =>
  gb ?? (billions * bits) / 8;

describe("models of public catalogues", () => {
  it.each(PUBLIC)("are never weighed above what they are: %s", (id, of) => {
    const read = namedWeights(id)?.gb ?? 0;
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThanOrEqual(sizeOf(of));
  });

  it("are weighed within a third", () => {
    const off = PUBLIC.filter(([id, of]) => (namedWeights(id)?.gb ?? 0) < (sizeOf(of) * 2) / 3);
    expect(off.map(([id]) => id)).toEqual([]);
  });

  it.each(OPEN)("are left open where their name has no size: %s", (id) => {
    expect(namedWeights(id)).toBeUndefined();
  });
});
