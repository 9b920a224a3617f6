import { UNKNOWN } from "@local-serving/vllm/argv/unknown";
import { expect, it } from "vitest";
import { TYPE } from "../../../components/planned/type";
import { cacheTooSmall, countedAdapters, largestShares } from "../../../policies/lib/largestShares";

const GIB = 2 ** 30;
const machine = (memory: Record<string, unknown>) => ({
  type: TYPE.machine,
  name: "dgx",
  props: { memory },
});

it("a server's largest shares come with the figures of its start that are known", () => {
  const largestUtilization = {
    b: { bySum: 0.4, byAggregate: 0.5, keepingFloor: 0.3 },
    c: {},
    d: {},
  };
  const starts = {
    b: { leastUtilization: 0.2, sureUtilization: UNKNOWN, windowGiB: "2", modelWindow: true },
    c: { byName: UNKNOWN, unweighed: UNKNOWN },
    d: { byName: "70B", unweighed: true },
  };
  expect(largestShares(machine({ largestUtilization, starts }))).toEqual([
    {
      name: "b",
      bySum: 0.4,
      byAggregate: 0.5,
      keepingFloor: 0.3,
      needs: { leastUtilization: 0.2 },
    },
    { name: "c", bySum: Number.NaN, byAggregate: Number.NaN, needs: {} },
    {
      name: "d",
      bySum: Number.NaN,
      byAggregate: Number.NaN,
      needs: { byName: "70B", unweighed: true },
    },
  ]);
  expect(largestShares(undefined)).toEqual([]);
});

it.each<[string, Record<string, number>, number, string]>([
  ["just fits", { leastCacheBytes: 2 * GIB, outsideGiB: 1 }, 2, ""],
  [
    "doesn't",
    { leastCacheBytes: 2 * GIB, outsideGiB: 1 },
    1.99,
    "1.99 GiB is left for the KV cache of b, but one request of its whole window needs 2.00 GiB.",
  ],
  [
    "has less than nothing",
    { leastCacheBytes: 2 * GIB, outsideGiB: 1 },
    -1,
    "0.00 GiB is left for the KV cache of b, but one request of its whole window needs 2.00 GiB.",
  ],
  ["is of no known size", { outsideGiB: 1 }, 0, ""],
  ["lies beside what nobody knows", { leastCacheBytes: 2 * GIB }, 0, ""],
])("a KV cache is too small where one request doesn't fit: it %s", (_, needs, left, says) => {
  expect(cacheTooSmall({ name: "b", bySum: 0, byAggregate: 0, needs }, left)).toBe(says);
});

it("adapters count for the servers that have a line of them, or figures on request", () => {
  const lines = ["a: adapters", "x: overshoot", UNKNOWN].map((name) => ({ name, gib: 1 }));
  const servers = [{ name: "b", adaptersGiB: 1 }, { name: "y" }, { name: UNKNOWN, adaptersGiB: 1 }];
  expect(countedAdapters(machine({ lines, together: { servers } }))).toEqual(new Set(["a", "b"]));
  expect(countedAdapters(undefined)).toEqual(new Set());
});
