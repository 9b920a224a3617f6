import { expect, it } from "vitest";
import { KV_ENGINE_DEFAULTS } from "../../components/kv";
import images from "../../components/supply/images.json";
import { pinnedVllm } from "../../components/supply/pinnedRelease";
import { engineVersions } from "../../vllm/engineData";

it("a KV plan is for the pinned release unless another is named", () => {
  expect(KV_ENGINE_DEFAULTS.vllmVersion).toBe(pinnedVllm());
});

it("the pinned release is one whose digest and arguments are known", () => {
  expect(images.releases.map(({ image }) => image)).toContain(images.pinned);
  expect(engineVersions()).toContain(pinnedVllm());
});
