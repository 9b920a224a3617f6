import { describe, expect, it } from "vitest";
import { ggufLacks, ggufText } from "../../components/memory/model-name/gguf";
import { namedWeights, unweighedText } from "../../components/memory/model-name/modelName";

const ID = "unsloth/Qwen3-32B-GGUF";
const PAGE = "(docs.vllm.ai/en/latest/features/quantization/gguf)";

describe("a model whose name says GGUF", () => {
  it("lacks the type of its file, a tokenizer and, by its version, a package", () => {
    expect(ggufLacks({ id: ID, hasTokenizer: false, withoutGguf: "0.30.0" })).toBe(
      `by its name ${ID} is GGUF, of which vLLM loads one file; that takes the file's type behind the id, such as \`${ID}:Q4_K_M\`; \`--tokenizer\` with the repository that it was made from; with vLLM 0.30.0 the package vllm-gguf-plugin in its image ${PAGE}. Serve a safetensors repository of the model, or let Ollama serve this one: run \`ollama pull hf.co/${ID}\`, and list \`hf.co/${ID}\` in \`simpleServer.models\`.`,
    );
  });

  it.each([
    [`${ID}:Q4_K_M`, true, undefined, undefined],
    ["/models/Qwen3-32B-Q4_K_M.gguf", true, undefined, undefined],
    ["Qwen/Qwen3-32B", false, "0.30.0", undefined],
    [`${ID}:Q4_K_M`, false, undefined, "that takes `--tokenizer` with"],
    [ID, true, undefined, "that takes the file's type behind the id, such as"],
    [`${ID}:Q4_K_M`, true, "0.30.0", "that takes with vLLM 0.30.0 the package vllm-gguf-plugin"],
    ["/models/Qwen3-32B-Q4_K_M.gguf", false, undefined, "or the file with Ollama"],
  ])("lacks only what isn't there: %s", (id, hasTokenizer, withoutGguf, words) => {
    const found = ggufLacks({
      id,
      hasTokenizer,
      ...(withoutGguf === undefined ? {} : { withoutGguf }),
    });
    if (words === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(words);
  });

  it("names the form that vLLM takes, also of an id with another file", () => {
    expect([ID, `${ID}:Q8_0`].map((id) => ggufText(id).includes(`\`${ID}:QUANT_TYPE\``))).toEqual([
      true,
      true,
    ]);
  });

  it("is weighed by the file that the advice writes", () => {
    expect(unweighedText(ID)).toBe(
      `nobody could weigh ${ID}, which is GGUF by its name: name the file that vLLM loads (such as \`${ID}:Q4_K_M\`), or write \`model.weightsGB\`.`,
    );
    expect(namedWeights(ID)).toBeUndefined();
    expect(namedWeights(`${ID}:Q4_K_M`)?.gb).toBeCloseTo(15.4, 1);
  });
});
