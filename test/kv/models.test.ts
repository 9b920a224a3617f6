import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { kvPlan, modelShape } from "../../components/kv";
import { configSchema } from "../../components/kv/configSchema";
import vectors from "./vectors.json";

const MODELS = join(__dirname, "../../models");
const folders = readdirSync(MODELS, { withFileTypes: true }).filter((each) => each.isDirectory());
const configOf = (name: string) => JSON.parse(readFileSync(join(MODELS, name, "config.json"), "utf8"));

describe("the model configs of the repository", () => {
  it.each(folders.map((folder) => [folder.name]))("%s can be planned and says where it is from", (name) => {
    const plan = kvPlan(modelShape(configOf(name)), { kvCacheDtype: "fp8" }, 60 * 2 ** 30);
    expect([plan.fits, plan.problems]).toEqual([true, []]);
    expect(existsSync(join(MODELS, name, "README.md"))).toBe(true);
  });

  it.each(folders.map((folder) => [folder.name]))("%s holds no field that nobody reads", (name) => {
    const { text_config, ...root } = configOf(name);
    const named = ["architectures", "model_type", "dtype", "torch_dtype", "quantization_config"];
    const read = new Set([...Object.keys(configSchema.shape), ...named]);
    expect(Object.keys({ ...root, ...text_config }).filter((field) => !read.has(field))).toEqual([]);
  });

  it("the default model has the shape that vLLM's own classes were run with", () => {
    const seen = vectors.find((each) => each.id.includes("/qwen3.6-35b-a3b/"));
    expect(modelShape(configOf("nvidia--Qwen3.6-35B-A3B-NVFP4"))).toEqual(modelShape(seen?.config));
  });
});
