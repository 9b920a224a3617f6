import { describe, expect, it } from "vitest";
import { nearestKey } from "../../faults/quoting";

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
