import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { kvPlan, modelShape } from "../../components/kv";
import { configSchema } from "../../components/kv/configSchema";
import { unplannedCaches } from "../../components/kv/unplanned";
import { FaultyInput } from "../../faults/fault";
import vectors from "./vectors.json";

const MODELS = join(__dirname, "../../models");
const folders = readdirSync(MODELS, { withFileTypes: true }).filter((each) => each.isDirectory());
const configOf = (name: string) => JSON.parse(readFileSync(join(MODELS, name, "config.json"), "utf8"));

function faultsOf(config: unknown): string[] {
  try {
    modelShape(config);
  } catch (error) {
    if (error instanceof FaultyInput) return error.faults.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
  return [];
}

const REFUSED: Readonly<Record<string, string>> = {
  "local-inference-lab--Qwen3.8-Flash-Next-NVFP4":
    "text_config.indexer_head_dim: Unknown architecture: This field means sparse attention",
};
const planned = folders.filter(({ name }) => !Object.hasOwn(REFUSED, name));

describe("the model configs of the repository", () => {
  it.each(planned.map((folder) => [folder.name]))("%s can be planned", (name) => {
    const plan = kvPlan(modelShape(configOf(name)), { kvCacheDtype: "fp8" }, 60 * 2 ** 30);
    expect([plan.fits, plan.problems]).toEqual([true, []]);
  });

  it.each(Object.entries(REFUSED))("%s is refused, and says why", (name, why) => {
    expect(faultsOf(configOf(name))).toContainEqual(expect.stringContaining(why));
  });

  it.each(folders.map((folder) => [folder.name]))("%s says where it is from", (name) => {
    const pages = ["recipe.yaml", "README.md"].map((page) => join(MODELS, name, page));
    const text = [...pages, join(MODELS, "README.md")].find(existsSync) ?? "";
    expect(readFileSync(text, "utf8")).toMatch(/ai-dynamo\/aiconfigurator|from: (class-defaults|other-model),/);
  });

  it.each(folders.map((folder) => [folder.name]))("%s has only fields that are read", (name) => {
    const { text_config, ...root } = configOf(name);
    const named = ["architectures", "model_type", "dtype", "torch_dtype", "quantization_config"];
    const read = new Set([...Object.keys(configSchema.shape), ...named]);
    const fields = { ...root, ...text_config };
    const unread = Object.keys(fields).filter((field) => !read.has(field));
    expect(unread.filter((field) => unplannedCaches({ [field]: fields[field] }).length === 0)).toEqual([]);
  });

  it("the default model has the shape that vLLM's own classes were run with", () => {
    const seen = vectors.find((each) => each.id.includes("/qwen3.6-35b-a3b/"));
    expect(modelShape(configOf("nvidia--Qwen3.6-35B-A3B-NVFP4"))).toEqual(modelShape(seen?.config));
  });
});
