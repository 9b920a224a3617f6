import { describe, expect, it } from "vitest";
import { prefills } from "../admission";

describe("a cold prompt", () => {
  it("of the usual lengths below the window, and of the whole window, takes what the model's own rate says", () => {
    expect(prefills(262_144, 6265)).toEqual([
      { tokens: 30_000, seconds: 5 },
      { tokens: 131_072, seconds: 21 },
      { tokens: 262_144, seconds: 42 },
    ]);
    expect(prefills(20_000, 1000)).toEqual([{ tokens: 20_000, seconds: 20 }]);
  });
});
