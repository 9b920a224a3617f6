import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  alternatives,
  fitTogether,
  largestSet,
  mayRun,
  setsWith,
  stopsFor,
  together,
} from "../../components/memory/together/together";
import { plan } from "../../components/plan/plan";
import { serverInput, stack } from "../fixtures/machine";

const server = (key: string, takenGiB: number, more: object = {}) => ({
  key,
  container: `vllm-${key}`,
  takenGiB,
  certainGiB: takenGiB,
  compilingGiB: 0,
  utilization: 0.1,
  ...more,
});
const figures = (servers: ReturnType<typeof server>[], more: object = {}) => ({
  totalGiB: 100,
  floorGiB: 2,
  beside: { takenGiB: 40, certainGiB: 38, utilization: 0.3 },
  servers,
  ...more,
});
const setsOf = (servers: ReturnType<typeof server>[], more: object = {}) =>
  together(figures(servers, more)).sets;

describe("which servers run together", () => {
  it.each([
    ["all", [server("b", 10), server("c", 20)], [["b", "c"]]],
    ["one or the other", [server("b", 30), server("c", 40)], [["b"], ["c"]]],
    ["none", [server("b", 63), server("c", 70)], []],
    [
      "any two of three",
      [server("b", 25), server("c", 25), server("d", 25)],
      [
        ["b", "c"],
        ["b", "d"],
        ["c", "d"],
      ],
    ],
    ["up to the floor exactly", [server("b", 29), server("c", 29)], [["b", "c"]]],
    ["not a hundredth above it", [server("b", 29), server("c", 29.01)], [["b"], ["c"]]],
    [
      "with the larger of what they compile",
      [server("b", 20, { compilingGiB: 18 }), server("c", 20, { compilingGiB: 17 })],
      [["b", "c"]],
    ],
    [
      "unless that is too much",
      [server("b", 20, { compilingGiB: 18.01 }), server("c", 20)],
      [["b"], ["c"]],
    ],
    ["one alone by what is certain", [server("b", 75, { certainGiB: 62 })], [["b"]]],
    [
      "shares at 0.90 exactly",
      [server("b", 1, { utilization: 0.4 }), server("c", 1, { utilization: 0.2 })],
      [["b", "c"]],
    ],
    [
      "shares above it",
      [server("b", 1, { utilization: 0.4 }), server("c", 1, { utilization: 0.2001 })],
      [["b"], ["c"]],
    ],
  ] as const)("%s", (_, servers, sets) => {
    expect(setsOf([...servers])).toEqual(sets);
  });

  it("is every largest set that fits, in the order of the stack file", () => {
    const gib = fc.integer({ min: 0, max: 8000 }).map((hundredths) => hundredths / 100);
    const servers = fc.array(
      fc.record({
        takenGiB: gib,
        compilingGiB: gib,
        utilization: fc.integer({ min: 0, max: 9000 }).map((each) => each / 10_000),
      }),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(servers, (given) => {
        const all = given.map((each, index) =>
          server(String.fromCharCode(98 + index), each.takenGiB, each),
        );
        const asked = figures(all);
        const subsets = Array.from({ length: 2 ** all.length }, (_, set) =>
          all.filter((_, index) => Math.floor(set / 2 ** index) % 2 === 1),
        );
        const fits = subsets.filter((set) => set.length > 0 && fitTogether(asked, set));
        const largest = fits.filter(
          (set) =>
            !fits.some(
              (other) => other.length > set.length && set.every((each) => other.includes(each)),
            ),
        );
        const keys = largest.map((set) => set.map(({ key }) => key));
        expect(together(asked).sets).toEqual(keys.sort((a, b) => (a.join() < b.join() ? -1 : 1)));
      }),
    );
  });

  it("looks at twelve servers", () => {
    const twelve = (takenGiB: number) => [..."bcdefghijklm"].map((key) => server(key, takenGiB));
    const small = { totalGiB: 1000, beside: { takenGiB: 0, certainGiB: 0, utilization: -1 } };
    expect(setsOf(twelve(1), small)).toEqual([[..."bcdefghijklm"]]);
    expect(setsOf(twelve(500), small)).toEqual([..."bcdefghijklm"].map((key) => [key]));
    expect(setsOf(twelve(160), small)).toHaveLength(924);
  });
});

describe("what sets say", () => {
  const sets = [["b", "d"], ["b", "e"], ["c"]];

  it("is who may run at once", () => {
    expect(mayRun(sets, "b")).toBe(true);
    expect(mayRun(sets, "e", "b")).toBe(true);
    expect(mayRun(sets, "d", "e")).toBe(false);
    expect(mayRun(sets, "x")).toBe(false);
    expect(setsWith(sets, "b")).toEqual([
      ["b", "d"],
      ["b", "e"],
    ]);
  });

  it("is each of them, and each server alone that is in none", () => {
    expect(alternatives(sets, ["b", "x", "c"])).toEqual([...sets, ["x"]]);
    expect(alternatives([], [])).toEqual([]);
  });

  it("is the largest, the first of several", () => {
    expect(largestSet(sets, ({ length }) => length)).toEqual(["b", "d"]);
    expect(largestSet(sets, (set) => (set.includes("c") ? 1 : 0))).toEqual(["c"]);
    expect(largestSet([], () => 1)).toEqual([]);
  });

  it.each([
    ["c", ["b", "d"], [["b", "d"]]],
    ["d", ["b", "e"], [["e"]]],
    ["b", ["d", "e"], [["e"], ["d"]]],
    ["b", ["c", "e"], [["c"]]],
    ["b", ["d"], [[]]],
    ["x", [], []],
  ])("for %s is what to stop of %j", (name, running, stops) => {
    expect(stopsFor(sets, name, running)).toEqual(stops);
  });

  it("agrees, whatever is asked", () => {
    const name = fc.constantFrom(..."bcdef");
    const some = fc.uniqueArray(name, { maxLength: 5 });
    fc.assert(
      fc.property(fc.array(some), name, some, (given, wanted, others) => {
        const running = others.filter((each) => each !== wanted);
        const stops = stopsFor(given, wanted, running);
        const left = (stop: readonly string[]) => running.filter((each) => !stop.includes(each));
        expect(stops.length > 0).toBe(mayRun(given, wanted));
        expect(stops.some(({ length }) => length === 0)).toBe(mayRun(given, wanted, ...running));
        for (const stop of stops) {
          expect(mayRun(given, wanted, ...left(stop))).toBe(true);
          for (const one of stop) expect(mayRun(given, wanted, one, ...left(stop))).toBe(false);
        }
        expect(
          alternatives(given, running).every((set) => set.length === 1 || mayRun(given, ...set)),
        ).toBe(true);
        expect(running.every((each) => mayRun(alternatives(given, running), each))).toBe(true);
      }),
    );
  });
});

describe("a machine some of whose servers start on request", () => {
  const machineWith = (more: Record<string, object>, machine: object = {}) => {
    const inferenceServers = Object.fromEntries(
      Object.entries(more).map(([key, given], index) => [
        key,
        serverInput({ servedModelName: key, aliases: [], port: 8001 + index, ...given }),
      ]),
    );
    const planned = plan(stack({ instanceA: "none", inferenceServers, ...machine }), {
      home: "/h",
    });
    const [only] = planned.machines;
    if (only === undefined) throw new Error("there is one machine");
    return { machine: only, warnings: planned.warnings };
  };
  const onRequest = (gpuMemoryUtilization: number) => ({
    start: "onRequest",
    gpuMemoryUtilization,
  });

  it("has no sets where all servers always run", () => {
    expect(machineWith({ b: {} }).machine).not.toHaveProperty("together");
  });

  it("adds up what always runs with the largest set, and knows what fits of each", () => {
    const { machine } = machineWith({
      a: { gpuMemoryUtilization: 0.3 },
      b: onRequest(0.2),
      c: onRequest(0.5),
      d: onRequest(0.25),
    });
    expect(machine.together?.sets).toEqual([["b", "d"], ["c"]]);
    expect(machine.ledger.aggregateUtilization).toBe(0.8);
    expect(machine.ledger.lines.map(({ name }) => name)).toEqual([
      "vllm-a-8001",
      "vllm-a-8001: overshoot",
      "vllm-c-8003",
      "vllm-c-8003: overshoot",
      "operating system",
    ]);
    expect(Object.keys(machine.ledger.largestUtilization)).toEqual([
      "vllm-a-8001",
      "vllm-b-8002",
      "vllm-c-8003",
      "vllm-d-8004",
    ]);
    expect(machine.ledger.largestUtilizationThatFits["vllm-b-8002"]).toBe(0.6);
  });

  it("tells the gates what each server takes, and that theirs end when spent", () => {
    const { machine } = machineWith({
      a: { gpuMemoryUtilization: 0.3 },
      b: onRequest(0.2),
      c: onRequest(0.5),
    });
    const { text = "" } = machine.files.find(({ role }) => role === "start-gate") ?? {};
    expect(text.split("\n").filter((line) => /^(server|end-when)/.test(line))).toEqual([
      "server vllm-a-8001 37366 58 http://127.0.0.1:8001/health",
      "server vllm-b-8002 24914 58 http://127.0.0.1:8002/health",
      "end-when-spent vllm-b-8002",
      "server vllm-c-8003 62280 58 http://127.0.0.1:8003/health",
      "end-when-spent vllm-c-8003",
    ]);
  });

  it("is admitted one by one beside what always runs", () => {
    const meminfo = { dgx: { totalGiB: 121.63, availableGiB: 117 } };
    const servers = { a: { gpuMemoryUtilization: 0.3 }, b: onRequest(0.5), c: onRequest(0.5) };
    const inferenceServers = Object.fromEntries(
      Object.entries(servers).map(([key, given], index) => [
        key,
        serverInput({ servedModelName: key, aliases: [], port: 8001 + index, ...given }),
      ]),
    );
    const settings = stack({ instanceA: "none", inferenceServers });
    const [machine] = plan(settings, { home: "/h", meminfo }).machines;
    expect(machine?.admission.map(({ name, availableGiB }) => [name, availableGiB])).toEqual([
      ["vllm-a-8001", 117],
      ["vllm-b-8002", 79.57],
      ["vllm-c-8003", 79.57],
    ]);
  });

  it.each([
    [
      { b: onRequest(0.2), c: onRequest(0.2) },
      "b, c all fit at the same time, so none has to stop for another. `start: onRequest` frees their memory while they are stopped.",
    ],
    [
      { b: onRequest(0.2) },
      "b alone starts on request, so nothing has to stop for it. `start: onRequest` frees its memory while it is stopped.",
    ],
    [{ b: onRequest(0.5), c: onRequest(0.5) }, undefined],
  ])("says where nothing ever has to stop", (servers, message) => {
    const found = machineWith(servers).warnings.find(({ code }) => code === "together-all");
    expect(found).toEqual(message && { machine: "dgx", code: "together-all", message, note: true });
  });

  it("refuses a shared name behind a bridge", () => {
    const bridge = { image: `ghcr.io/berriai/litellm:v1.103.0@sha256:${"0".repeat(64)}` };
    const twins = { b: onRequest(0.2), c: { gpuMemoryUtilization: 0.2, aliases: ["b"] } };
    expect(() => machineWith(twins, { bridge })).toThrow(
      "machines.dgx.inferenceServers.b.start: `c` also answers to `b`, and the bridge of dgx sends each request for that name to whichever of the two seems to be running: write `start: always`, or give each server its own names (`servedModelName`, `aliases`).",
    );
    expect(machineWith(twins).machine.together?.sets).toEqual([["b"]]);
  });
});
