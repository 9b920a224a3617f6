import { readdirSync, readFileSync } from "node:fs";
import { FaultyInput, faultLine } from "@local-serving/base/faults/fault";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { familyOf } from "../../components/inference-server/parsers";
import { plan } from "../../components/plan/plan";
import { parseStackFile } from "../../components/settings/load";
import { faultLines } from "../fixtures/faults";
import { DIGEST, serverInput, stack } from "../fixtures/machine";

const configOf = (folder: string): unknown =>
  JSON.parse(readFileSync(`models/${folder}/config.json`, "utf8"));
const known = (config: unknown, more: object = {}) => ({
  home: "/home/me",
  models: { "org/model": { source: "models/org--model/config.json", config, ...more } },
});
const of = (model_type: string, more: object = {}) => known({ model_type, ...more });

function outcome(model: object, evidence: ReturnType<typeof known>): unknown {
  try {
    const planned = plan(
      stack({}, { model: { id: "org/model", thinking: true, ...model } }),
      evidence,
    );
    const { toolParser, reasoningParser } = planned.machines[0]?.serve[0] ?? {};
    return [toolParser, reasoningParser];
  } catch (error) {
    if (error instanceof FaultyInput)
      return error.faults.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
}

describe("a model's family", () => {
  it("follows from each config of the repository", () => {
    const folders = readdirSync("models").filter((each) => each.includes("--"));
    const told = folders.map((folder) => [folder, familyOf(configOf(folder)) ?? "none"] as const);
    const families = Object.fromEntries(
      told.map(([, family]) => [
        family,
        told.flatMap(([folder, of]) => (of === family ? [folder] : [])).sort(),
      ]),
    );
    expect(families).toEqual({
      qwen3: expect.arrayContaining(["nvidia--Qwen3.6-35B-A3B-NVFP4", "Qwen--Qwen3.5-397B-A17B"]),
      "gpt-oss": ["openai--gpt-oss-120b", "openai--gpt-oss-20b"],
      "nemotron-3": [
        "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4",
        "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4",
        "nvidia--NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4",
      ],
      "gemma-4": ["nvidia--Gemma-4-26B-A4B-NVFP4", "nvidia--Gemma-4-31B-IT-NVFP4"],
      none: [
        "Inferact--Muse-Glimmer-30B-NVFP4-W4A4",
        "Qwen--Qwen3-235B-A22B-GPTQ-Int4",
        "Qwen--Qwen3-30B-A3B-FP8",
        "Qwen--Qwen3-32B-FP8",
        "Qwen--Qwen3-Embedding-0.6B",
        "Qwen--Qwen3-Reranker-0.6B",
        "Qwen--Qwen3-VL-8B-Instruct",
        "Qwen--Qwen3-VL-Embedding-8B",
        "cyankiwi--GLM-4.7-Flash-AWQ-4bit",
        "deepseek-ai--DeepSeek-V4-Flash-0731",
        "local-inference-lab--GLM-5.3-Flash-NVFP4",
        "mistralai--Mistral-Small-4-119B-2603-NVFP4",
        "nvidia--DeepSeek-V4-Flash-NVFP4",
        "nvidia--Llama-3.3-70B-NVFP4",
        "nvidia--MiniMax-M2.7-NVFP4",
        "nvidia--Qwen3-235B-A22B-NVFP4",
        "saricles--MiniMax-M2.7-NVFP4-GB10",
        "saricles--Qwen3-Coder-Next-NVFP4-GB10",
        "stepfun-ai--Step-3.7-Flash-FP8",
        "stepfun-ai--Step-3.7-Flash-NVFP4",
        "zai-org--GLM-5.2-FP8",
      ],
    });
  });

  it.each([
    ["by the config alone", {}, of("qwen3_5_moe"), ["qwen3_coder", "qwen3"]],
    ["of a text model", {}, of("qwen3_5_text"), ["qwen3_coder", "qwen3"]],
    ["declared and so", { family: "gpt-oss" }, of("gpt_oss"), ["openai", "openai_gptoss"]],
    ["none for a type of several", {}, of("qwen3_next"), [null, null]],
    [
      "one of several, declared",
      { family: "qwen3-next-instruct" },
      of("qwen3_next"),
      ["hermes", null],
    ],
    ["the other of several", { family: "qwen3-coder" }, of("qwen3_next"), ["qwen3_coder", null]],
    ["none for a type that nothing is known of", {}, of("llama"), [null, null]],
    [
      "none for the hybrids before it",
      {},
      of("nemotron_h", { hybrid_override_pattern: "M-M*" }),
      [null, null],
    ],
    ["declared as other: no parsers", { family: "other" }, of("gpt_oss"), [null, null]],
    [
      "declared, and no config known",
      { family: "gpt-oss" },
      { home: "/", models: {} },
      ["openai", "openai_gptoss"],
    ],
  ])("chooses its parsers: %s", (_, model, evidence, parsers) => {
    expect(outcome(model, evidence as ReturnType<typeof known>)).toEqual(parsers);
  });

  it.each([
    ["qwen3", of("gpt_oss"), "model_type gpt_oss is of gpt-oss"],
    ["qwen3", of("llama"), "model_type llama is of no family with known parsers"],
    ["qwen3", of("qwen3_next"), "model_type qwen3_next is of qwen3-coder or qwen3-next-instruct"],
    ["glm-4.5", of("glm4_moe_lite"), "model_type glm4_moe_lite is of no family with known parsers"],
    ["nemotron-3", of("nemotron_h"), "model_type nemotron_h is of no family with known parsers"],
  ])("declared as %s is refused where the config tells otherwise", (family, evidence, told) => {
    expect(outcome({ family }, evidence)).toEqual([
      `machines.dgx.inferenceServers.b.model.family: \`family: ${family}\` is declared, but models/org--model/config.json says that ${told}. Delete this line, or correct \`id\`: \`serving models\` lists the known models.`,
    ]);
  });

  it("is not known for certain without a config, and the plan says so", () => {
    const { warnings } = plan(stack(), { home: "/home/me" });
    expect(warnings.find(({ code }) => code === "family-unproven")?.message).toBe(
      "b: `family: qwen3` can't be checked: there is no config.json. It chooses the parsers: when you change `id`, now org/model, correct `family` too.",
    );
    const known = plan(stack(), of("qwen3_5")).warnings;
    expect(known.map(({ code }) => code)).not.toContain("family-unproven");
  });
});

describe("the size of the weights", () => {
  const inCache = (weightsGB: number) => known({ model_type: "qwen3_5" }, { weightsGB });

  it.each([
    [22, 21.9],
    [22, 23.1],
  ])("%d GB declared passes with %d in the cache", (weightsGB, there) => {
    expect(outcome({ weightsGB }, inCache(there))).toEqual(["qwen3_coder", "qwen3"]);
  });

  it("is refused where the cache has another, with the line", () => {
    const server = serverInput({ model: { id: "org/model", weightsGB: 22 } });
    const machine = { totalGiB: 121.63, instanceA: "none", inferenceServers: { b: server } };
    const text = stringify({ config: { "local-serving:machines": { dgx: machine } } });
    const line = text.split("\n").findIndex((each) => each.includes("weightsGB")) + 1;
    const read = () => plan(parseStackFile("Pulumi.dgx.yaml", text), inCache(61));
    expect(read).toThrow(FaultyInput);
    try {
      read();
    } catch (error) {
      const lines =
        error instanceof FaultyInput ? error.faults.map((fault) => faultLine(fault)) : [];
      expect(lines).toEqual([
        `Pulumi.dgx.yaml:${line}:24 machines.dgx.inferenceServers.b.model.weightsGB: \`weightsGB: 22\` is declared, but the weights in the model cache are 61.0 GB. Delete this line, or correct \`id\`: \`serving models\` lists the known models.`,
      ]);
    }
  });
});

describe("a measurement", () => {
  const measured = (nonKvGiB: number, image = DIGEST) => ({
    measured: { nonKvGiB, kvTokens: 900_000, maxConcurrency: 3.4, at: "2026-11-21", image },
  });
  const weighing = (weightsGB: number, more: object) =>
    faultLines(() => plan(stack({}, { model: { id: "org/model", weightsGB }, ...more }), evidence));
  const evidence = { home: "/home/me" };

  it("of less than half the weights is of another model, and refused", () => {
    expect(weighing(60, measured(25.4))).toEqual([
      "machines.dgx.inferenceServers.b.measured.nonKvGiB: On 2026-11-21 25.4 GiB were outside the KV cache, but the weights of org/model alone take 55.88 GiB: that was measured with another model. Delete `measured`, and measure again once this one runs (`serving verify --only memory`).",
    ]);
  });

  it.each<[string, number, object]>([
    ["of more than the weights", 22, measured(25.4)],
    ["of a little less, where drafts stay on disk", 22, measured(19)],
    ["of about half, where float32 is loaded as 16 bits", 29.2, measured(15.1)],
    ["with another image, which doesn't count", 60, measured(25.4, `sha256:${"0".repeat(64)}`)],
    [
      "with weights in host memory",
      60,
      { ...measured(25.4), extraArgs: ["--cpu-offload-gb", "20"] },
    ],
    [
      "with weights that are quantized while loading",
      60,
      { ...measured(25.4), extraArgs: ["--quantization", "fp8"] },
    ],
  ])("%s is taken", (_, weightsGB, more) => {
    expect(weighing(weightsGB, more)).toEqual([]);
  });
});
