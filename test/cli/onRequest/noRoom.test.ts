import { containersOf } from "@local-serving/machines/docker/containers";
import { describe, expect, it } from "vitest";
import { noRoom } from "../../../cli/onRequest/noRoom";
import { plan } from "../../../components/plan/plan";
import type { MachinePlan } from "../../../components/plan/types";
import { LABEL } from "../../../components/planned/container";
import { serverInput, stack } from "../../fixtures/machine";
import { inspectedAsPlanned } from "../fakeDocker";

type SeenContainer = Parameters<typeof noRoom>[2][number];

const SHARES = { a: 0.2, b: 0.25, c: 0.5, d: 0.2, e: 0.3 };
const machine = planned();

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

/** A container as the plan has it, in this state. */
function seen(key: string, more: Partial<SeenContainer> = {}): SeenContainer {
  const [found] = containersOf([inspectedAsPlanned(containerOf(key))]);
  if (found === undefined) throw new Error(`${key} has a container`);
  return { ...found, ...more };
}

function containerOf(key: string) {
  const server = machine.inferenceServers.find((each) => each.key === key);
  if (server === undefined) throw new Error(`there is no ${key}`);
  return server.container;
}

const why = (key: string, ...all: SeenContainer[]) => noRoom(machine, key, all);
const share = (utilization: number) => ({
  gpuMemoryUtilization: utilization,
  memory: { utilization },
});

describe("why a server that starts on request has no room", () => {
  it("goes by the sets of the plan", () => {
    expect(machine.together?.sets).toEqual([
      ["b", "d"],
      ["b", "e"],
      ["c", "d"],
      ["d", "e"],
    ]);
  });

  it.each([
    ["nothing runs", "c", []],
    ["a set has all that run", "b", [seen("a"), seen("d")]],
    [
      "the others don't run",
      "b",
      [seen("c", { status: "exited" }), seen("e", { status: "created" })],
    ],
  ])("is nothing where %s", (_, key, all) => {
    expect(why(key, ...all)).toBe("");
  });

  it.each(["running", "paused", "restarting"])("is one that is %s and must stop", (status) => {
    expect(why("c", seen("a"), seen("b", { status }), seen("d"))).toBe(
      "c takes 61.76 GiB and doesn't fit beside b (31.35 GiB), d (25.27 GiB). First run `serving stop b`.",
    );
  });

  it("names every choice, and none that stops more than another", () => {
    expect(why("d", seen("b"), seen("e"))).toMatch(
      /First run `serving stop e` or `serving stop b`\.$/,
    );
    expect(why("c", seen("b"), seen("e"))).toMatch(
      /First run `serving stop b && serving stop e`\.$/,
    );
  });

  it("is what always runs, where no set has the server", () => {
    const { together } = machine;
    const none = { ...machine, ...(together && { together: { ...together, sets: [] } }) };
    expect(noRoom(none, "c", [])).toBe(
      "c takes 61.76 GiB and doesn't fit beside what always runs: `serving plan` says what would fit.",
    );
  });

  it("is a server of ours on this machine that the stack file doesn't have", () => {
    const old = { ...seen("b", share(0.05)), name: "old" };
    expect(why("c", old)).toBe(
      "old runs on this machine but isn't in the stack file. First run `docker stop old`.",
    );
    expect(why("c", { ...old, status: "exited" })).toBe("");
    expect(why("c", { ...old, labels: { ...old.labels, [LABEL.machine]: "other" } })).toBe("");
    const { gpuMemoryUtilization, memory, ...service } = old;
    expect(why("c", { ...service, labels: { [LABEL.machine]: "dgx" } })).toBe("");
  });

  it("is another share than the sets count with, of what runs or of the server itself", () => {
    const stops = (key: string, figures: string) =>
      `${key} has another share of the memory than planned (${figures}): \`serving stop ${key}\` stops it, and \`serving status --against applied\` says what fixes it.`;
    expect(why("d", seen("b", share(0.6)))).toBe(stops("b", "73.92 GiB, not 31.35 GiB"));
    expect(why("d", seen("a", share(0.1)))).toBe(stops("a", "13.10 GiB, not 25.27 GiB"));
    expect(why("d", seen("b", { status: "exited", ...share(0.6) }))).toBe("");
    const { memory, ...untold } = seen("b");
    expect(why("d", untold)).toBe(stops("b", "unknown, not 31.35 GiB"));
    expect(why("d", seen("d", { status: "created", ...share(0.6) }))).toBe(
      "d has another share of the memory than planned (73.92 GiB, not 25.27 GiB): `serving status --against applied` says what fixes it.",
    );
  });

  it("is all of it at once", () => {
    const old = { ...seen("b"), name: "old" };
    expect(
      why("c", old, seen("a", share(0.1)), seen("b")).match(/old runs|a has|c takes/g),
    ).toEqual(["old runs", "a has", "c takes"]);
  });
});
