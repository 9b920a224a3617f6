import { expect, it } from "vitest";
import { readCatalogue } from "../../components/catalogue/readCatalogue";
import { parserInstead } from "../../components/inference-server/parsers";

it.each<[string, "tool" | "reasoning", string, string | undefined]>([
  ["nvidia/Qwen3.6-35B-A3B-NVFP4", "tool", "hermes", "qwen3_coder"],
  ["nvidia/Qwen3.6-35B-A3B-NVFP4", "tool", "qwen3_xml", undefined],
  ["Qwen/Qwen3-32B", "tool", "llama3_json", "hermes"],
  ["Qwen/Qwen3-32B", "reasoning", "deepseek_r1", undefined],
  ["openai/gpt-oss-120b", "reasoning", "qwen3", "openai_gptoss"],
  ["unsloth/gpt-oss-20b", "tool", "hermes", "openai"],
  ["meta-llama/Llama-3.3-70B-Instruct", "tool", "hermes", "llama3_json"],
  ["NousResearch/Hermes-4-Llama-3.1-70B", "tool", "hermes", undefined],
  ["nvidia/Llama-3_3-Nemotron-Super-49B-v1", "tool", "hermes", undefined],
  ["deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "reasoning", "qwen3", undefined],
  ["openai/gpt-oss-120b", "tool", "a-plugin's", undefined],
  ["org/model", "tool", "hermes", undefined],
])("%s with the %s parser %s should have %s", (id, what, parser, right) => {
  expect(parserInstead(id, what, parser)).toBe(right);
});

it("no recipe of the catalogue names another family's parser", () => {
  const found = readCatalogue(process.cwd()).flatMap(
    ({ id, parsers: { tool, reasoning } = {} }) => [
      ...(tool === undefined ? [] : [parserInstead(id, "tool", tool)]),
      ...(reasoning === undefined ? [] : [parserInstead(id, "reasoning", reasoning)]),
    ],
  );
  expect(found.filter((each) => each !== undefined)).toEqual([]);
});
