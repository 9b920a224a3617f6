import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { kvPlan, modelShape } from "@local-serving/kv";
import { describe, expect, it } from "vitest";
import { widthsSchema } from "../../components/memory/adapterSlots";
import { configSchema } from "../../packages/kv/configSchema";
import vectors from "../../packages/kv/test/vectors.json";
import { unplannedCaches } from "../../packages/kv/unplanned";

const MODELS = join(__dirname, "../../models");
const folders = readdirSync(MODELS, { withFileTypes: true }).filter((each) => each.isDirectory());
const UNPLANNED = ["local-inference-lab--GLM-5.3-Flash-NVFP4"];
const configOf = (name: string) =>
  JSON.parse(readFileSync(join(MODELS, name, "config.json"), "utf8"));

describe("the model configs of the repository", () => {
  it.each(UNPLANNED)("%s has a field for which there is no plan", (name) => {
    expect(() => modelShape(configOf(name))).toThrow(
      "index_kpool: Unknown architecture: This field means sparse attention, which can't be planned. Its KV cache can't be planned before the engine has measured it.",
    );
  });

  const planned = folders.map(({ name }) => name).filter((name) => !UNPLANNED.includes(name));
  it.each(planned)("%s can be planned", (name) => {
    const shape = modelShape(configOf(name));
    const kvCacheDtype = shape.compressedIndex === undefined ? "fp8" : "auto";
    const plan = kvPlan(shape, { kvCacheDtype }, 60 * 2 ** 30);
    expect([plan.fits, plan.problems]).toEqual([true, []]);
  });

  it.each(folders.map((folder) => [folder.name]))("%s says where it is from", (name) => {
    const pages = ["recipe.yaml", "README.md"].map((page) => join(MODELS, name, page));
    const text = [...pages, join(MODELS, "README.md")].find(existsSync) ?? "";
    expect(readFileSync(text, "utf8")).toMatch(
      /ai-dynamo\/aiconfigurator|from: (class-defaults|other-model),/,
    );
  });

  it.each(folders.map((folder) => [folder.name]))("%s has only fields that are read", (name) => {
    const { text_config, ...root } = configOf(name);
    const named = ["architectures", "model_type", "dtype", "torch_dtype", "quantization_config"];
    const read = new Set([
      ...Object.keys({ ...configSchema.shape, ...widthsSchema.shape }),
      ...named,
    ]);
    const fields = { ...root, ...text_config };
    const unread = Object.keys(fields).filter((field) => !read.has(field));
    expect(
      unread.filter((field) => unplannedCaches({ [field]: fields[field] }).length === 0),
    ).toEqual([]);
  });

  it("the default model has the shape that vLLM's own classes were run with", () => {
    const seen = vectors.find((each) => each.id.includes("/qwen3.6-35b-a3b/"));
    expect(modelShape(configOf("nvidia--Qwen3.6-35B-A3B-NVFP4"))).toEqual(modelShape(seen?.config));
  });
});
