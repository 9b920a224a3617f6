import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isMetered, measuredUsd, usageOf } from "../../providers/cost";

const both = { price_usd_per_mtok_input: 3, price_usd_per_mtok_output: 15 };
const usage = { inputTokens: 1_000_000, outputTokens: 200_000 };

describe("the cost of a request", () => {
  it.each([
    ["is measured with both prices", both, usage, 6],
    [
      "is 0 at prices of 0, which is measured too",
      { price_usd_per_mtok_input: 0, price_usd_per_mtok_output: 0 },
      usage,
      0,
    ],
    [
      "is not measured with the input price alone",
      { price_usd_per_mtok_input: 3 },
      usage,
      undefined,
    ],
    [
      "is not measured with the output price alone",
      { price_usd_per_mtok_output: 3 },
      usage,
      undefined,
    ],
    ["is not measured without prices", {}, usage, undefined],
    ["is not measured without usage", both, undefined, undefined],
  ])("%s", (_, prices, reported, expected) => {
    expect(measuredUsd(prices, reported)).toBe(expected);
    expect(isMetered(prices)).toBe(Object.keys(prices).length === 2);
  });

  it("is linear in the tokens", () => {
    const tokens = fc.integer({ min: 0, max: 10_000_000 });
    const cost = (inputTokens: number, outputTokens: number) =>
      measuredUsd(both, { inputTokens, outputTokens }) ?? Number.NaN;
    fc.assert(
      fc.property(tokens, tokens, tokens, tokens, (a, b, c, d) => {
        expect(cost(a + c, b + d)).toBeCloseTo(cost(a, b) + cost(c, d), 6);
      }),
    );
  });
});

describe("the usage in an answer", () => {
  it("is read when both counts can be true", () => {
    const answer = { usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 } };
    expect(usageOf(answer)).toEqual({ inputTokens: 12, outputTokens: 3 });
  });

  it.each([
    null,
    3,
    {},
    { usage: null },
    { usage: { prompt_tokens: 1 } },
    { usage: { prompt_tokens: -1, completion_tokens: 0 } },
    { usage: { prompt_tokens: 0.5, completion_tokens: 0 } },
    { usage: { prompt_tokens: "1", completion_tokens: 0 } },
  ])("is not taken from %j", (answer) => {
    expect(usageOf(answer)).toBe(undefined);
  });
});
