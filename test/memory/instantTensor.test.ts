import { expect, it } from "vitest";
import { kvRoom } from "../../components/memory/kvRoom";
import { plan } from "../../components/plan/plan";
import { stack } from "../fixtures/machine";

const settingsOf = (overlay: Record<string, unknown>) => {
  const server = stack({}, { model: { id: "org/model", weightsGB: 22 }, ...overlay }).machines.dgx
    ?.inferenceServers.b;
  if (server === undefined) throw new Error("no server b");
  return server;
};

it("InstantTensor takes 4.4 GiB of the room for the KV cache, and the plan says so", () => {
  const [plain, instant] = [undefined, "instanttensor"].map((loadFormat) =>
    kvRoom(settingsOf({ loadFormat }), 121.63),
  );
  expect((plain?.lowGiB ?? 0) - (instant?.lowGiB ?? 0)).toBeCloseTo(4.4, 6);
  expect((plain?.highGiB ?? 0) - (instant?.highGiB ?? 0)).toBeCloseTo(4.4, 6);
  expect(instant?.source).toMatch(/, and 4\.4 of InstantTensor$/);
  expect(plain?.source).not.toContain("InstantTensor");
  expect(kvRoom(settingsOf({ loadFormat: "InstantTensor" }), 121.63)).toEqual(instant);
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
