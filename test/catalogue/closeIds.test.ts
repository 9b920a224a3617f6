import { expect, it } from "vitest";
import { isNearly } from "../../components/catalogue/modelNames";

it.each<[string, string, boolean]>([
  ["Qwen/Qwen3.6-35B-A3B-NVPF4", "nvidia/Qwen3.6-35B-A3B-NVFP4", true],
  ["Qwen/Qwen3.5-397B-A17B-FP8", "Intel/Qwen3.5-397B-A17B-int4-AutoRound", true],
  ["opena/gpt-oss-120b", "openai/gpt-oss-120b", true],
  ["openai/gpt-oss-12b", "openai/gpt-oss-120b", false],
  ["Qwen/Qwen3.6-27B-FP8", "Qwen/Qwen3.6-35B-A3B-FP8", false],
  ["Qwen/Qwen3.5-35B-A3B-FP8", "Qwen/Qwen3.6-35B-A3B-FP8", false],
  ["zai-org/GLM-4.7", "cyankiwi/GLM-4.7-Flash-AWQ-4bit", false],
  ["Qwen/Qwen3-8B", "Qwen/Qwen3-VL-8B-Instruct", false],
  ["meta-llama/Llama-3.3-70B-Instruct", "nvidia/Llama-3.3-70B-NVFP4", true],
  ["zai-org/GLM-4.7-Flash", "cyankiwi/GLM-4.7-Flash-AWQ-4bit", true],
  ["Qwen/Qwen3-Coder-Next", "saricles/Qwen3-Coder-Next-NVFP4-GB10", true],
  ["nvidia/Qwen3.6-35-A3B-NVFP4", "nvidia/Qwen3.6-35B-A3B-NVFP4", true],
  ["nvdia/Gemma-4-31B-IT-NVFP4", "nvidia/Gemma-4-31B-IT-NVFP4", true],
  ["nvidia/Gema-4-31B-IT-NVFP4", "nvidia/Gemma-4-31B-IT-NVFP4", true],
  ["nvidia/Gemma-3-31B-IT-NVFP4", "nvidia/Gemma-4-31B-IT-NVFP4", false],
  ["Qwen/Qwen3-235B-A22B-Instruct-2507", "Qwen/Qwen3-235B-A22B-GPTQ-Int4", false],
  ["mistralai/Mistral-Small-4-119B-2606-NVFP4", "mistralai/Mistral-Small-4-119B-2603-NVFP4", false],
  ["openai/gpt-oss-safeguard-20b", "openai/gpt-oss-20b", false],
  ["z-lab/gpt-oss-120b-DFlash", "openai/gpt-oss-120b", false],
  ["huihui-ai/Huihui-gpt-oss-120b-abliterated", "openai/gpt-oss-120b", false],
  ["Qwen/Qwen3.6-Plus", "nvidia/Qwen3.6-35B-A3B-NVFP4", false],
  ["Qwen/Qwen3.6-35B-A3B-Base", "nvidia/Qwen3.6-35B-A3B-NVFP4", false],
  ["deepseek-ai/DeepSeek-V4-Pro", "nvidia/DeepSeek-V4-Flash-NVFP4", false],
  ["mistralai/Mistral-Small-4-24B-2603", "mistralai/Mistral-Small-4-119B-2603-NVFP4", false],
])("%s may be meant as %s: %s", (id, other, is) => {
  expect(isNearly(id, other)).toBe(is);
});
