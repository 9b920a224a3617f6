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
])("%s may be meant as %s: %s", (id, other, is) => {
  expect(isNearly(id, other)).toBe(is);
});
