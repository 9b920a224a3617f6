import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { stack } from "../fixtures/machine";

const config: unknown = JSON.parse(
  readFileSync("models/nvidia--Qwen3.6-35B-A3B-NVFP4/config.json", "utf8"),
);

const roomWith = (loadFormat?: string) =>
  plan(stack({}, { loadFormat }), {
    home: "/home/me",
    models: { "org/model": { source: "config.json", config, weightsGB: 22 } },
  }).machines[0]?.kv["vllm-model-8001"]?.room;

it("InstantTensor takes 4.4 GiB of the room for the KV cache, and the plan says so", () => {
  const [plain, instant] = [roomWith(), roomWith("instanttensor")];
  expect((plain?.lowGiB ?? 0) - (instant?.lowGiB ?? 0)).toBeCloseTo(4.4, 6);
  expect((plain?.highGiB ?? 0) - (instant?.highGiB ?? 0)).toBeCloseTo(4.4, 6);
  expect(instant?.source).toContain(", 4.4 of InstantTensor, ");
  expect(plain?.source).not.toContain("InstantTensor");
  expect(roomWith("InstantTensor")).toEqual(instant);
});

it("InstantTensor counts beside a KV cache of fixed size, as a default", () => {
  const beside = (loadFormat?: string) =>
    plan(
      stack(
        {},
        {
          ...{ model: { id: "org/model", weightsGB: 22 }, gpuMemoryUtilization: 0.3, loadFormat },
          kvCacheMemoryBytes: 12 * 1024 ** 3,
        },
      ),
      { home: "/home/me" },
    ).machines[0]?.ledger.lines.find(({ name }) => name.endsWith("beside its weights"));
  expect([beside(), beside("instanttensor")]).toMatchObject([
    { basis: "default" },
    { basis: "default" },
  ]);
  expect((beside("instanttensor")?.gib ?? 0) - (beside()?.gib ?? 0)).toBeCloseTo(4.4, 6);
});
