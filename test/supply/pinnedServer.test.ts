import { expect, it } from "vitest";
import { KV_ENGINE_DEFAULTS } from "../../components/kv";
import { pinnedServer } from "../../components/supply/pinnedServer";
import { engineVersions } from "../../vllm/engineData";

it("a KV plan is for the pinned release unless another is named", () => {
  expect(KV_ENGINE_DEFAULTS.vllmVersion).toBe(pinnedServer().versions.vllm);
});

it("the pinned release is one whose arguments are known", () => {
  expect(engineVersions()).toContain(pinnedServer().versions.vllm);
});
