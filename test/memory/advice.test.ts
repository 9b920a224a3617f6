import { cacheWithin } from "@local-serving/vllm/utilization";
import { describe, expect, it } from "vitest";
import { adviseCache, adviseShare, leastToStart } from "../../components/memory/advice";

describe("the share that is advised for one that is too large", () => {
  const ROWS = [
    ["all that fits", {}, {}, 0.5, [0.5, 0.5, "nothing"]],
    ["no more than leaves the floor", {}, { keepingFloor: 0.4 }, 0.5, [0.4, 0.4, "nothing"]],
    ["all, where nothing leaves the floor", {}, { keepingFloor: 0 }, 0.5, [0.5, 0.5, "floor"]],
    [
      "all, where it doesn't start with what leaves the floor",
      { leastUtilization: 0.45 },
      { keepingFloor: 0.4 },
      0.5,
      [0.5, 0.5, "floor"],
    ],
    [
      "none, where it doesn't start with all",
      { leastUtilization: 0.6 },
      {},
      0.5,
      [0.5, 0, "nothing"],
    ],
    ["none, where nothing is left", {}, {}, 0, [0, 0, "nothing"]],
    ["the calm one below", { unwarnedUtilization: 0.3 }, {}, 0.5, [0.5, 0.3, "nothing"]],
    ["the calm one that is all", { unwarnedUtilization: 0.5 }, {}, 0.5, [0.5, 0.5, "nothing"]],
    ["the last that isn't warned about", { leastUtilization: 0.1 }, {}, 0.8, [0.8, 0.8, "nothing"]],
    ["one that is warned about", { leastUtilization: 0.1 }, {}, 0.81, [0.81, 0.81, "caution"]],
  ] as const;

  it.each(ROWS)("is %s", (_, needs, floor, bySum, [most, value, warns]) => {
    const least = "leastUtilization" in needs ? needs.leastUtilization : 0;
    expect(adviseShare({ bySum, byAggregate: 0.9, needs, ...floor }, 0.95)).toEqual({
      ...{ value, least, most, fits: bySum, warns },
    });
  });
});

describe("the share that is advised for one that is too small", () => {
  const needs = { leastUtilization: 0.3, sureUtilization: 0.4, unwarnedUtilization: 0.5 };
  const room = { bySum: 0.6, byAggregate: 0.7, needs };

  it.each([
    ["surely starts", {}, 0.2, 0.4],
    ["surely starts, where the one it has may start", {}, 0.35, 0.4],
    ["is the least, where so much isn't left", { bySum: 0.38 }, 0.2, 0.3],
    ["is the least, where so much doesn't leave the floor", { keepingFloor: 0.38 }, 0.2, 0.3],
    ["stays, where it may start and more isn't left", { bySum: 0.38 }, 0.35, 0.35],
    ["is none, where not even the least is left", { bySum: 0.29 }, 0.2, 0],
  ])("%s", (_, less, now, value) => {
    expect(adviseShare({ ...room, ...less }, now).value).toBe(value);
  });

  it("is the largest without a warning, once it surely starts", () => {
    expect(adviseShare(room, 0.4).value).toBe(0.5);
  });
});

describe("the size of a fixed cache", () => {
  const needs = { leastCacheBytes: 2 * 2 ** 30, outsideGiB: 10 };

  it("is advised where its share and the machine have room for it", () => {
    const place = { totalGiB: 100, budgetGiB: 12, fits: 0.12 };
    expect(adviseCache(needs, place)).toBe(2 * 2 ** 30);
    expect(adviseCache(needs, { ...place, fits: 0.119 })).toBeUndefined();
    expect(adviseCache(needs, { ...place, budgetGiB: 2 })).toBeUndefined();
    expect(adviseCache({ outsideGiB: 10 }, place)).toBeUndefined();
  });

  it("is what is left, unless that holds no window", () => {
    expect(cacheWithin(1.5, 2 ** 30)).toBe(1.5 * 2 ** 30);
    expect(cacheWithin(0.5, 2 ** 30)).toBeUndefined();
    expect(cacheWithin(0)).toBeUndefined();
  });
});

describe("the least share", () => {
  it("is that of its weights where the KV cache isn't planned, and 0 where nothing is known", () => {
    expect(leastToStart({ leastUtilization: 0.3 }, null, 121.69)).toBe(0.3);
    expect(leastToStart({}, null, 121.69)).toBe(0);
  });
});
