import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { debit, remainingBudget } from "../../../harness/providers/metering";

const both = { price_usd_per_mtok_input: 3, price_usd_per_mtok_output: 15 };
const usage = { inputTokens: 1_000_000, outputTokens: 200_000 };
const estimate = { estimateUnmetered: true, usdPerInvocation: 0.5 };

describe("what an invocation costs the ledger", () => {
  it.each([
    ["the measured cost with both prices", both, usage, estimate, { usd: 6, estimated: false }],
    [
      "nothing at prices of zero, and measured",
      { price_usd_per_mtok_input: 0, price_usd_per_mtok_output: 0 },
      usage,
      estimate,
      { usd: 0, estimated: false },
    ],
    [
      "the estimate with the input price alone",
      { price_usd_per_mtok_input: 3 },
      usage,
      estimate,
      { usd: 0.5, estimated: true },
    ],
    [
      "the estimate with the output price alone",
      { price_usd_per_mtok_output: 3 },
      usage,
      estimate,
      { usd: 0.5, estimated: true },
    ],
    ["the estimate without prices", {}, usage, estimate, { usd: 0.5, estimated: true }],
    ["the estimate where no usage was reported", both, undefined, estimate, { usd: 0.5, estimated: true }],
    [
      "nothing known where estimates are off",
      {},
      usage,
      { ...estimate, estimateUnmetered: false },
      undefined,
    ],
    ["nothing known without an amount", {}, usage, { estimateUnmetered: true }, undefined],
  ])("%s", (_, provider, reported, policy, expected) => {
    expect(debit(provider, reported, policy)).toEqual(expected);
  });

  it("refuses what can't be", () => {
    expect(() => debit(both, { inputTokens: -1, outputTokens: 0 }, estimate)).toThrow("a token count");
    expect(() => debit(both, { inputTokens: 0.5, outputTokens: 0 }, estimate)).toThrow("a token count");
    expect(() => debit({}, undefined, { estimateUnmetered: true, usdPerInvocation: -1 })).toThrow(
      "an estimate",
    );
    expect(() => debit({}, undefined, { estimateUnmetered: true, usdPerInvocation: Number.NaN })).toThrow(
      "an estimate",
    );
  });

  it("is linear in the tokens", () => {
    const tokens = fc.integer({ min: 0, max: 10_000_000 });
    const cost = (inputTokens: number, outputTokens: number) =>
      debit(both, { inputTokens, outputTokens }, estimate)?.usd ?? Number.NaN;
    fc.assert(
      fc.property(tokens, tokens, tokens, tokens, (a, b, c, d) => {
        expect(cost(a + c, b + d)).toBeCloseTo(cost(a, b) + cost(c, d), 6);
        expect(cost(a, b)).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it("takes measured and estimated debits from the same cap", () => {
    expect(
      remainingBudget(1, [
        { usd: 0.25, estimated: false },
        { usd: 1, estimated: true },
      ]),
    ).toBe(-0.25);
  });
});
