import { describe, expect, it } from "vitest";
import { figuresToKeep, merged, namedResult, partsOf } from "../../../cli/update/parts";
import { changesOf } from "../../../components/change/changesOf";
import { plan } from "../../../components/plan/plan";
import { serverInput, stack } from "../../fixtures/machine";
import { BRIDGE, CHAT_UI } from "../../fixtures/services";

const planned = (server: object = {}, machine: object = {}) =>
  plan(
    stack(
      {
        inferenceServers: { b: serverInput({ ...server }) },
        ...{ bridge: BRIDGE, chatUi: CHAT_UI, ...machine },
      },
      {},
    ),
    { home: "/home/me" },
  ).machines;

const BEFORE = planned();
const parts = (after: typeof BEFORE, limits: Parameters<typeof partsOf>[2] = {}) =>
  partsOf(changesOf(BEFORE, after), [...BEFORE, ...after], limits);

describe("what an update is about", () => {
  it("is nothing where nothing changes", () => {
    expect(parts(planned())).toEqual([]);
  });

  it("is a server with twice the longest time of the plan, and what uses it", () => {
    const after = planned({ gpuMemoryUtilization: 0.4 });
    const [change] = changesOf(BEFORE, after)[0]?.containers.filter(({ key }) => key === "b") ?? [];
    const most = (change?.steps ?? []).reduce((sum, step) => sum + step.most, 0);
    expect(most).toBeGreaterThan(60);
    expect(parts(after)).toEqual([
      { name: "dgx.b", withinSeconds: 2 * most },
      { name: "dgx.bridge" },
      { name: "dgx.chat-ui" },
    ]);
  });

  it("gives each as long as the stack file says", () => {
    const after = planned({ gpuMemoryUtilization: 0.4 });
    expect(parts(after, { dgx: { startWithinMinutes: 1.5 } })[0]).toEqual({
      name: "dgx.b",
      withinSeconds: 90,
    });
  });

  it("is a service alone where only that changes", () => {
    const after = planned({}, { bridge: { ...BRIDGE, port: 4001 } });
    expect(parts(after).map(({ name }) => name)).toContain("dgx.bridge");
    expect(parts(after).map(({ name }) => name)).not.toContain("dgx.b");
  });

  it("names each thing once, and keeps its time", () => {
    expect(merged([{ name: "b" }], [{ name: "b", withinSeconds: 5 }, { name: "c" }])).toEqual([
      { name: "b", withinSeconds: 5 },
      { name: "c" },
    ]);
  });

  it("names a probe by the server's key, whatever its container is called", () => {
    const [machine] = planned({ servedModelName: "other" });
    const target = machine?.inferenceServers[0]?.container.name ?? "";
    const result = { name: "health", target, status: "pass", detail: "", fix: "", seconds: 0 };
    if (machine === undefined) throw new Error("no machine");
    expect(namedResult(machine, { ...result, status: "pass" }).id).toBe("dgx.b health");
    expect(namedResult(machine, { ...result, target: "instance A", status: "pass" }).id).toBe(
      "dgx.instance A health",
    );
  });
});

describe("what probes counted before", () => {
  const counted = [
    { id: "dgx.b kv-cache", figure: 7.5 },
    { id: "dgx.b health" },
    { id: "dgx.c kv-cache", figure: 2 },
  ].map((each) => ({
    ...{ status: "pass" as const, detail: "", name: "", target: "", fix: "", seconds: 1 },
    ...each,
  }));

  it("binds an update that leaves a server's arguments as they are", () => {
    expect(figuresToKeep(counted, BEFORE, planned({ image: OTHER_IMAGE }))).toEqual({
      "dgx.b kv-cache": 7.5,
    });
  });

  it("binds none where the share changes, or the server goes", () => {
    expect(figuresToKeep(counted, BEFORE, planned({ gpuMemoryUtilization: 0.4 }))).toEqual({});
    expect(figuresToKeep(counted, BEFORE, [])).toEqual({});
  });
});

const OTHER_IMAGE = `vllm/vllm-openai:v0.30.1@sha256:${"1".repeat(64)}`;
