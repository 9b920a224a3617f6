import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { prefillSeconds } from "../../components/kv";
import { prefills } from "../../components/kv/prefill";

describe("a cold prompt", () => {
  it.each([
    [4_600, 4_600 / 1_734],
    [47_800, 47_800 / 853],
    [1_000_000, 1_200],
  ])("of %i tokens takes as long as was measured", (tokens, seconds) => {
    expect(prefillSeconds(tokens)).toBeCloseTo(seconds, 6);
  });

  it("of 30K, 128K and the whole window lies between the measured rates", () => {
    expect(prefills(262_144)).toEqual([
      { tokens: 30_000, seconds: 29 },
      { tokens: 131_072, seconds: 155 },
      { tokens: 262_144, seconds: 311 },
    ]);
    expect(prefills(20_000)).toEqual([{ tokens: 20_000, seconds: 17 }]);
  });

  it("takes longer when it is longer", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3_000_000 }),
        fc.integer({ min: 1, max: 1000 }),
        (tokens, more) => {
          expect(prefillSeconds(tokens + more)).toBeGreaterThan(prefillSeconds(tokens));
        },
      ),
    );
  });

  it("has at least one token", () => {
    expect(() => prefillSeconds(0)).toThrow("a prompt has at least one token");
  });
});
