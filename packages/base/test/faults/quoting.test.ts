import * as levenshtein from "fastest-levenshtein";
import { describe, expect, it, vi } from "vitest";
import { listOf, nearestKey, nearOf } from "../../faults/quoting";

vi.mock("fastest-levenshtein", { spy: true });

const KNOWN = ["maxModelLen", "maxNumSeqs", "port", "extraArgs"];

describe("the key that a mistyped one meant", () => {
  it.each([
    ["maxModelLength", "maxModelLen"],
    ["max_num_seq", "maxNumSeqs"],
    ["prot", "port"],
    ["prt", "port"],
    ["extraArg", "extraArgs"],
    ["model", undefined],
    ["maxBatch", undefined],
    ["part2", "port"],
    ["parts2", undefined],
    ["", undefined],
  ])("%s: %s", (key, meant) => {
    expect(nearestKey(key, KNOWN)).toBe(meant);
  });
});

describe("very many names", () => {
  const names = (count: number, prefix: string) =>
    Array.from({ length: count }, (_, index) => `${prefix}${10_000 + index}`);

  it("are compared with a mistyped one only where their length is near, and 200 of them at most", () => {
    const distance = vi.mocked(levenshtein.distance);
    const comparisons = (key: string, known: readonly string[]) => {
      distance.mockClear();
      nearestKey(key, known);
      return distance.mock.calls.length;
    };
    expect(comparisons("x99999", names(50_000, "k"))).toBe(200);
    expect(comparisons("x".repeat(100_000), names(50_000, "k"))).toBe(0);
    expect(comparisons("prot", KNOWN)).toBe(1);
    expect(nearestKey("prot", [...names(50_000, "very-long-name-"), "port"])).toBe("port");
  });

  it("are listed in part, with how many more there are", () => {
    expect(listOf([])).toBe("none");
    expect(listOf(["a", "b"])).toBe("a, b");
    expect(nearOf("zzz", names(1000, "k"))).toMatch(
      /^It has: k10000, (k100\d\d, ){59}and 940 more\.$/,
    );
  });
});
