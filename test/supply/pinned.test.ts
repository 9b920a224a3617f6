import { readFileSync } from "node:fs";
import { join } from "node:path";
import { KV_ENGINE_DEFAULTS } from "@local-serving/kv";
import { engineVersions } from "@local-serving/vllm/engineData";
import { expect, it } from "vitest";
import { pinnedImage, pinnedServer } from "../../components/supply/pinned";

const SAMPLE = readFileSync(join(__dirname, "../../Pulumi.dgx.yaml"), "utf8");

it("a KV plan is for the pinned release unless another is named", () => {
  expect(KV_ENGINE_DEFAULTS.vllmVersion).toBe(pinnedServer().versions.vllm);
});

it("the pinned release is one whose arguments are known", () => {
  expect(engineVersions()).toContain(pinnedServer().versions.vllm);
});

it.each(["vllm", "litellm", "open-webui"] as const)("the sample runs the pinned %s", (name) => {
  expect(SAMPLE).toContain(`image: ${pinnedImage(name)}`);
});
