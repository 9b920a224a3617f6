import { UNKNOWN } from "@local-serving/vllm/argv/unknown";
import { describe, expect, it } from "vitest";
import { LABEL } from "../../../components/planned/container";
import { TYPE } from "../../../components/planned/type";
import {
  atOnce,
  declaredSets,
  largestTogether,
  saysOnRequest,
} from "../../../policies/lib/together";

const machine = (servers: unknown, sets: unknown) => ({
  type: TYPE.machine,
  name: "dgx",
  props: { memory: { together: { servers, sets } } },
});
const named = (...names: unknown[]) => names.map((name) => ({ name }));

it.each([
  [[{ label: LABEL.start, value: "onRequest" }], true],
  [[{ label: LABEL.start, value: "always" }], false],
  [[{ label: "start", value: "onRequest" }], false],
  [[], false],
  [UNKNOWN, false],
])("a container says by its label whether it starts on request: %o", (labels, says) => {
  expect(saysOnRequest({ labels })).toBe(says);
});

describe("what a machine component says of servers on request", () => {
  it("is each set, and each server that is in none", () => {
    const { sets, known } = declaredSets(
      machine(named("b", UNKNOWN, "c", "d"), [["b"], [UNKNOWN, "c"], UNKNOWN]),
    );
    expect(known).toEqual(["b", "c", "d"]);
    expect(sets).toEqual([["b"], ["c"], []]);
  });

  it("is no set where its sets are not known", () => {
    expect(declaredSets(machine(named("b", "c"), UNKNOWN))).toMatchObject({
      known: ["b", "c"],
      sets: [],
    });
    expect(declaredSets(undefined)).toMatchObject({ known: [], sets: [] });
  });
});

describe("what may run at once", () => {
  const component = machine(named("b", "c"), [["b"], ["c"]]);
  const on = (container: string) => ({ container, onRequest: true });

  it("is each set beside what always runs", () => {
    const [a, x] = [{}, { container: "x" }];
    expect(atOnce([a, on("b"), on("c"), x, on("y")], component)).toEqual([
      [a, on("b"), x, on("y")],
      [a, on("c"), x, on("y")],
    ]);
  });

  it("is one alone that is in no set", () => {
    expect(atOnce([on("b"), on("c")], machine(named("b", "c"), UNKNOWN))).toEqual([
      [on("b")],
      [on("c")],
    ]);
  });

  it("is all where none starts on request", () => {
    const all = [{ container: "b" }, { container: "c" }];
    expect(atOnce(all, component)).toEqual([all]);
    expect(atOnce([on("b"), on("c")], undefined)).toEqual([[on("b"), on("c")]]);
  });
});

it("the largest set is that with the largest shares together", () => {
  const shares = { b: 0.3, c: 0.2, d: 0.2, e: 0.35 };
  const servers = Object.entries(shares).map(([name, utilization]) => ({ name, utilization }));
  expect(largestTogether(machine(servers, [["b"], ["c", "d"]]))).toEqual(["c", "d"]);
  expect(largestTogether(machine(servers, [["b"], ["c"], ["d"]]))).toEqual(["e"]);
  expect(largestTogether(machine([], []))).toEqual([]);
});
