import { expect, it } from "vitest";
import { modelNamed } from "../../../components/catalogue/modelNames";
import { readCatalogue } from "../../../components/catalogue/readCatalogue";

/** Names as people write them, and what each means: the model, those to choose from, or those that are close. */
const NAMES: readonly (readonly [name: string, is: string, ids: string])[] = [
  ["nvidia/Qwen3.6-35B-A3B-NVFP4", "one", "nvidia/Qwen3.6-35B-A3B-NVFP4"],
  ["NVIDIA/qwen3.6-35b-a3b-nvfp4", "one", "nvidia/Qwen3.6-35B-A3B-NVFP4"],
  ["nvidia--Qwen3.6-35B-A3B-NVFP4", "one", "nvidia/Qwen3.6-35B-A3B-NVFP4"],
  ["qwen3.6-35b-a3b", "one", "nvidia/Qwen3.6-35B-A3B-NVFP4"],
  ["Qwen3.6 35B A3B", "one", "nvidia/Qwen3.6-35B-A3B-NVFP4"],
  ["qwen 3.6 35b", "several", "Qwen/Qwen3.6-35B-A3B-FP8 nvidia/Qwen3.6-35B-A3B-NVFP4"],
  ["qwen3_6_35b_a3b", "one", "nvidia/Qwen3.6-35B-A3B-NVFP4"],
  ["qwen3.6-35b-a3b-fp8", "one", "Qwen/Qwen3.6-35B-A3B-FP8"],
  ["Qwen3.6 35B FP8", "one", "Qwen/Qwen3.6-35B-A3B-FP8"],
  [
    "Qwen/Qwen3.6-35B-A3B",
    "none",
    "nvidia/Qwen3.6-35B-A3B-NVFP4 Qwen/Qwen3.6-35B-A3B-FP8 nvidia/Qwen3.6-27B-NVFP4",
  ],
  [
    "qwen3.6",
    "several",
    "Qwen/Qwen3.6-35B-A3B-FP8 nvidia/Qwen3.6-27B-NVFP4 nvidia/Qwen3.6-35B-A3B-NVFP4",
  ],
  ["qwen3.6 27b", "one", "nvidia/Qwen3.6-27B-NVFP4"],
  ["Qwen 3.6 27B nvfp4", "one", "nvidia/Qwen3.6-27B-NVFP4"],
  [
    "qwen3.6-27b-fp8",
    "none",
    "nvidia/Qwen3.6-27B-NVFP4 Qwen/Qwen3.6-35B-A3B-FP8 nvidia/Qwen3.8-27B-NVFP4",
  ],
  ["qwen3.8 27b", "one", "nvidia/Qwen3.8-27B-NVFP4"],
  ["qwen3.8", "several", "nvidia/Qwen3.8-27B-NVFP4 local-inference-lab/Qwen3.8-Flash-Next-NVFP4"],
  [
    "qwen3",
    "several",
    "Qwen/Qwen3-235B-A22B-GPTQ-Int4 Intel/Qwen3.5-122B-A10B-int4-AutoRound Intel/Qwen3.5-397B-A17B-int4-AutoRound Qwen/Qwen3-Embedding-0.6B Qwen/Qwen3-Reranker-0.6B Qwen/Qwen3-VL-Embedding-8B Qwen/Qwen3.6-35B-A3B-FP8 local-inference-lab/Qwen3.8-Flash-Next-NVFP4 nvidia/Qwen3.5-122B-A10B-NVFP4 nvidia/Qwen3.6-27B-NVFP4 nvidia/Qwen3.6-35B-A3B-NVFP4 nvidia/Qwen3.8-27B-NVFP4 saricles/Qwen3-Coder-Next-NVFP4-GB10",
  ],
  ["qwen 3.8 flash next", "one", "local-inference-lab/Qwen3.8-Flash-Next-NVFP4"],
  ["qwen3-coder-next", "one", "saricles/Qwen3-Coder-Next-NVFP4-GB10"],
  ["Qwen3 Coder Next", "one", "saricles/Qwen3-Coder-Next-NVFP4-GB10"],
  [
    "qwen3_coder",
    "none",
    "saricles/Qwen3-Coder-Next-NVFP4-GB10 Qwen/Qwen3-Reranker-0.6B Qwen/Qwen3-235B-A22B-GPTQ-Int4",
  ],
  [
    "qwen3-coder-nxt",
    "none",
    "saricles/Qwen3-Coder-Next-NVFP4-GB10 Qwen/Qwen3-Reranker-0.6B Qwen/Qwen3-235B-A22B-GPTQ-Int4",
  ],
  [
    "qwen3 next",
    "none",
    "saricles/Qwen3-Coder-Next-NVFP4-GB10 Qwen/Qwen3-Reranker-0.6B local-inference-lab/Qwen3.8-Flash-Next-NVFP4",
  ],
  ["qwen3 embedding", "one", "Qwen/Qwen3-Embedding-0.6B"],
  ["qwen3-reranker", "one", "Qwen/Qwen3-Reranker-0.6B"],
  ["Qwen3-Embedding-0.6B", "one", "Qwen/Qwen3-Embedding-0.6B"],
  [
    "qwen3 embedding 8b",
    "none",
    "Qwen/Qwen3-VL-Embedding-8B Qwen/Qwen3-Embedding-0.6B Qwen/Qwen3-Reranker-0.6B",
  ],
  ["qwen3 vl embedding", "one", "Qwen/Qwen3-VL-Embedding-8B"],
  [
    "qwen3-embedding-4b",
    "none",
    "Qwen/Qwen3-Embedding-0.6B Qwen/Qwen3-VL-Embedding-8B Qwen/Qwen3-Reranker-0.6B",
  ],
  ["qwen3 reranker", "one", "Qwen/Qwen3-Reranker-0.6B"],
  ["Qwen3 Reranker 0.6B", "one", "Qwen/Qwen3-Reranker-0.6B"],
  [
    "qwen3-reranker-8b",
    "none",
    "Qwen/Qwen3-Reranker-0.6B Qwen/Qwen3-VL-Embedding-8B saricles/Qwen3-Coder-Next-NVFP4-GB10",
  ],
  [
    "qwen3 8b",
    "none",
    "Qwen/Qwen3-VL-Embedding-8B Qwen/Qwen3-235B-A22B-GPTQ-Int4 Qwen/Qwen3-Embedding-0.6B",
  ],
  [
    "qwen3-vl-8b",
    "none",
    "Qwen/Qwen3-VL-Embedding-8B Qwen/Qwen3-235B-A22B-GPTQ-Int4 Qwen/Qwen3-Reranker-0.6B",
  ],
  ["qwen3-235b", "one", "Qwen/Qwen3-235B-A22B-GPTQ-Int4"],
  [
    "qwen3.5 122b",
    "several",
    "Intel/Qwen3.5-122B-A10B-int4-AutoRound nvidia/Qwen3.5-122B-A10B-NVFP4",
  ],
  ["qwen3.5-122b-a10b", "one", "Intel/Qwen3.5-122B-A10B-int4-AutoRound"],
  ["qwen3.5 122b nvfp4", "one", "nvidia/Qwen3.5-122B-A10B-NVFP4"],
  ["qwen3.5-397b", "one", "Intel/Qwen3.5-397B-A17B-int4-AutoRound"],
  ["Gemma 4 27B", "none", "nvidia/Gemma-4-31B-IT-NVFP4 nvidia/Gemma-4-26B-A4B-NVFP4"],
  ["gemma-4", "several", "nvidia/Gemma-4-26B-A4B-NVFP4 nvidia/Gemma-4-31B-IT-NVFP4"],
  ["gemma 4 26b", "one", "nvidia/Gemma-4-26B-A4B-NVFP4"],
  ["gemma 4 31b", "one", "nvidia/Gemma-4-31B-IT-NVFP4"],
  ["gemma-4-31b-it", "one", "nvidia/Gemma-4-31B-IT-NVFP4"],
  ["Gemma4 26B A4B", "one", "nvidia/Gemma-4-26B-A4B-NVFP4"],
  ["gpt-oss", "several", "openai/gpt-oss-120b openai/gpt-oss-20b"],
  ["gpt-oss-120b", "one", "openai/gpt-oss-120b"],
  ["GPT OSS 120B", "one", "openai/gpt-oss-120b"],
  ["gpt oss 20b", "one", "openai/gpt-oss-20b"],
  ["gpt_oss_20b", "one", "openai/gpt-oss-20b"],
  ["openai/gpt-oss", "none", "openai/gpt-oss-20b openai/gpt-oss-120b"],
  ["qwen3_6 27b", "one", "nvidia/Qwen3.6-27B-NVFP4"],
  ["Qwen 3 6 27B", "one", "nvidia/Qwen3.6-27B-NVFP4"],
  ["embedding", "several", "Qwen/Qwen3-Embedding-0.6B Qwen/Qwen3-VL-Embedding-8B"],
  ["gemma-4-e4b", "none", "nvidia/Gemma-4-31B-IT-NVFP4 nvidia/Gemma-4-26B-A4B-NVFP4"],
  ["Kimi K2", "none", ""],
  [
    "glm-4.5-air",
    "none",
    "cyankiwi/GLM-4.7-Flash-AWQ-4bit local-inference-lab/GLM-5.3-Flash-NVFP4",
  ],
  ["glm 4.7 flash", "one", "cyankiwi/GLM-4.7-Flash-AWQ-4bit"],
  ["glm-4.7-flash-awq", "one", "cyankiwi/GLM-4.7-Flash-AWQ-4bit"],
  ["GLM 5.3", "none", "local-inference-lab/GLM-5.3-Flash-NVFP4 cyankiwi/GLM-4.7-Flash-AWQ-4bit"],
  ["minimax m2.7", "one", "nvidia/MiniMax-M2.7-NVFP4"],
  ["MiniMax-M2.7 GB10", "one", "saricles/MiniMax-M2.7-NVFP4-GB10"],
  ["nemotron 3 super", "one", "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4"],
  ["nemotron-3-nano", "one", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4"],
  [
    "nemotron 3.5",
    "none",
    "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4 nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4 nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4",
  ],
  [
    "nemotron",
    "several",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4 nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4 nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4",
  ],
  ["llama 3.3 70b", "one", "nvidia/Llama-3.3-70B-NVFP4"],
  ["llama-3.1-8b", "none", "nvidia/Llama-3.3-70B-NVFP4"],
  ["mistral small 4", "one", "mistralai/Mistral-Small-4-119B-2603-NVFP4"],
  ["deepseek v4", "none", "nvidia/DeepSeek-V4-Flash-NVFP4 deepseek-ai/DeepSeek-V4-Flash-0731"],
  ["deepseek-v4-flash-0731", "one", "deepseek-ai/DeepSeek-V4-Flash-0731"],
  ["step 3.7 flash", "one", "stepfun-ai/Step-3.7-Flash-NVFP4"],
  ["step-3.7-flash-fp8", "one", "stepfun-ai/Step-3.7-Flash-FP8"],
  ["muse glimmer", "one", "Inferact/Muse-Glimmer-30B-NVFP4-W4A4"],
  ["muse-glimer-30b", "none", "Inferact/Muse-Glimmer-30B-NVFP4-W4A4"],
  ["whisper", "none", ""],
  ["nothing at all", "none", ""],
];

const catalogue = readCatalogue(process.cwd());

it.each(NAMES)("%s means %s: %s", (name, is, ids) => {
  const meant = modelNamed(name, catalogue);
  const models = meant.is === "one" ? [meant.model] : meant.models;
  expect([meant.is, models.map(({ id }) => id).join(" ")]).toEqual([is, ids]);
});

it("takes each hub id, and each name that clients ask for and one model alone has", () => {
  const served = catalogue.map(({ servedModelName }) => servedModelName);
  for (const { id, servedModelName } of catalogue) {
    expect(modelNamed(id, catalogue)).toMatchObject({ is: "one", model: { id } });
    const isOnly = served.filter((each) => each === servedModelName).length === 1;
    if (isOnly)
      expect(modelNamed(servedModelName, catalogue)).toMatchObject({ is: "one", model: { id } });
  }
});

it("never takes a name with a size, a kind or a way to store weights for a model without it", () => {
  for (const name of [
    "qwen3.6 8b",
    "gpt-oss-120b fp8",
    "gemma 4 31b embedding",
    "qwen3 embedding a3b",
  ])
    expect([name, modelNamed(name, catalogue).is]).toEqual([name, "none"]);
});
