import { describe, expect, it } from "vitest";
import { plan } from "../../../components/plan/plan";
import type { MachinePlan } from "../../../components/plan/types";
import { LABEL } from "../../../components/planned/container";
import { giveWay } from "../../../operate/onRequest/giveWay";
import { serverInput, stack } from "../../fixtures/machine";

const SHARES = { a: 0.2, b: 0.25, c: 0.5, d: 0.2, e: 0.3 };
const machine = planned();
const NAMES = Object.fromEntries(
  machine.inferenceServers.map((each) => [each.key, each.container.name]),
);

function planned(): MachinePlan {
  const inferenceServers = Object.fromEntries(
    Object.entries(SHARES).map(([key, gpuMemoryUtilization], index) => [
      key,
      serverInput({
        servedModelName: key,
        aliases: [],
        port: 8001 + index,
        gpuMemoryUtilization,
        ...(key === "a" ? {} : { start: "onRequest" }),
      }),
    ]),
  );
  const [only] = plan(stack({ instanceA: "none", inferenceServers }), { home: "/h" }).machines;
  if (only === undefined) throw new Error("there is one machine");
  return only;
}

const running = (key: string, more: object = {}) => ({
  name: NAMES[key] ?? key,
  status: "running",
  labels: { [LABEL.machine]: "dgx", [LABEL.server]: key },
  ...more,
});

function decide(key: string, ...seen: ReturnType<typeof running>[]) {
  if (machine.together === undefined) throw new Error("some start on request");
  const { stops, ...said } = giveWay(machine, machine.together, key, seen);
  return { stops: stops.map((each) => each.key), ...said };
}

describe("who gives way to a server that starts on request", () => {
  it("has the sets of the plan", () => {
    expect(machine.together?.sets).toEqual([
      ["b", "d"],
      ["b", "e"],
      ["c", "d"],
      ["d", "e"],
    ]);
  });

  it("is nobody where there is room", () => {
    expect(decide("c")).toEqual({ stops: [], why: "" });
    expect(decide("b", running("a"), running("d"))).toEqual({ stops: [], why: "" });
    expect(decide("b", running("c", { status: "exited" }))).toEqual({ stops: [], why: "" });
    expect(decide("c", running("c"))).toEqual({ stops: [], why: "" });
  });

  it("is whoever has no room beside it, with the figures", () => {
    expect(decide("c", running("a"), running("b"), running("d"))).toEqual({
      stops: ["b"],
      why: "c takes 61.76 GiB. Beside b, d, 28.02 GiB are missing, counting the floor of 2 GiB.",
    });
  });

  it("leaves what takes most of the memory", () => {
    expect(decide("e", running("b"), running("d"))).toMatchObject({ stops: ["d"] });
    expect(decide("d", running("b"), running("e"))).toMatchObject({ stops: ["b"] });
  });

  it("counts what really runs: more than planned, and ours that no stack file has", () => {
    const larger = { gpuMemoryUtilization: 0.6, memory: { utilization: 0.6 } };
    expect(decide("d", running("b", larger))).toMatchObject({ stops: ["b"] });
    const resident = running("a", { memory: { utilization: 0.6 } });
    expect(decide("d", resident)).toMatchObject({ stops: [] });
    expect(decide("c", resident).refused).toBe(
      "c takes 61.76 GiB and doesn't fit beside what always runs: 12.17 GiB are missing. `serving plan` shows what fits, and `serving drift` whether something runs with more memory than planned.",
    );
    const stranger = running("old", { memory: { utilization: 0.5 } });
    expect(decide("c", stranger)).toEqual({
      stops: [],
      why: "",
      refused:
        "c takes 61.76 GiB and doesn't fit beside what always runs: 24.34 GiB are missing. old runs on this machine but isn't in the stack file: `docker stop old`.",
    });
    expect(
      decide("c", { ...stranger, labels: { [LABEL.machine]: "other", [LABEL.server]: "x" } }),
    ).toEqual({
      stops: [],
      why: "",
    });
  });
});
