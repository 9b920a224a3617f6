import { describe, expect, it } from "vitest";
import { hasOnDemand, type OnDemandSeen } from "../../../cli/sees/onDemand/onDemand";
import { idleMinutesLeft, thrashIn } from "../../../cli/sees/onDemand/swapFigures";
import type { SwapEvent } from "../../../cli/sees/onDemand/swapFiles";
import { plan } from "../../../components/plan/plan";
import { serverInput, stack } from "../../fixtures/machine";
import { MadeMachine, SHA, STOPPED } from "./madeMachine";
import { StandInSwap } from "./standInSwap";

const NOW = Date.parse("2026-11-27T14:00:00Z");
const at = (minutes: number) => new Date(NOW - minutes * 60_000).toISOString();
const start = (minutes: number, server: string, ...stops: string[]): SwapEvent => ({
  at: at(minutes),
  event: "start",
  server,
  ...(stops.length === 0 ? {} : { stops }),
});

function planned(shares: Readonly<Record<string, number>>) {
  const inferenceServers = Object.fromEntries(
    Object.entries(shares).map(([key, gpuMemoryUtilization], index) => [
      key,
      serverInput({
        ...{ servedModelName: key, aliases: [], port: 8001 + index, start: "onRequest" },
        ...{ gpuMemoryUtilization, idleMinutes: key === "b" ? 30 : "never" },
      }),
    ]),
  );
  const onDemand = { program: { version: "v250", sha256: SHA } };
  const [only] = plan(stack({ instanceA: "none", onDemand, inferenceServers }), {
    home: "/h",
  }).machines;
  if (only === undefined || !hasOnDemand(only)) throw new Error("there is one machine");
  return only;
}

it("serving bench --swaps is answered with what took its place", async () => {
  const swap = await StandInSwap.start({});
  const machine = new MadeMachine({ port: swap.port, states: { b: STOPPED, c: STOPPED } });
  const { code, err, did } = await machine.serving("bench", "--swaps", "10", "--yes");
  expect([code, err, did, swap.asked]).toEqual([
    2,
    "`--swaps` is gone. `serving status` shows MemAvailable: compare it before and after some starts and stops.\n",
    [],
    [],
  ]);
});

describe("what the wrapper's events tell", () => {
  it("is thrash where servers stop each other again and again", () => {
    const ready = (minutes: number, server: string, seconds: number): SwapEvent => ({
      ...{ at: at(minutes), event: "ready", server, seconds },
    });
    const events = [
      ...[start(80, "c", "a"), start(50, "a", "c"), ready(45, "a", 300), start(40, "c", "a")],
      ...[ready(34, "c", 360), start(20, "a", "c"), start(10, "c", "a"), ready(5, "c", 60)],
    ];
    expect(thrashIn(events, NOW)).toEqual({ keys: ["a", "c"], swaps: 4, minutes: 12 });
    expect(thrashIn(events.slice(0, -2), NOW)).toBeUndefined();
    const oneWay = [50, 40, 30, 20].map((minutes) => start(minutes, "a", "c"));
    expect(thrashIn(oneWay, NOW)).toBeUndefined();
    expect(
      thrashIn(
        [50, 40, 30, 20].map((each) => start(each, "a")),
        NOW,
      ),
    ).toBeUndefined();
  });

  it("is when a server stops for want of requests", () => {
    const machine = planned({ b: 0.2, c: 0.2 });
    const seen = (overlay: Partial<OnDemandSeen> = {}): OnDemandSeen => ({
      ...{
        states: new Map([
          ["b", "ready"],
          ["c", "ready"],
        ]),
        requests: [],
        orphans: [],
      },
      ...{ containers: new Map(), failed: new Map(), lastAnswers: new Map() },
      events: [{ at: at(12), event: "ready", server: "b" }],
      ...overlay,
    });
    const left = (key: string, overlay?: Partial<OnDemandSeen>) =>
      idleMinutesLeft(machine, seen(overlay), key, NOW);
    expect(left("b")).toBe(18);
    expect(left("b", { lastAnswers: new Map([["b", at(1)]]) })).toBe(29);
    expect(left("b", { requests: [{ key: "b", since: at(1) }] })).toBeUndefined();
    expect(left("b", { states: new Map([["b", "starting"]]) })).toBeUndefined();
    expect(left("b", { events: [] })).toBeUndefined();
    // It has `idleMinutes: never`.
    expect(left("c", { lastAnswers: new Map([["c", at(1)]]) })).toBeUndefined();
  });
});
