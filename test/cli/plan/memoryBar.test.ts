import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memoryBar } from "../../../cli/plan/memoryText";
import { ledger } from "../../../components/memory/ledger";

const book = (...gib: number[]) =>
  ledger(
    120,
    [],
    gib.map((amount, index) => ({
      name: `n${index}`,
      gib: amount,
      basis: "measured",
      source: "test",
    })),
  );

describe("the memory bar", () => {
  it("gives each line its share of 60 columns", () => {
    expect(memoryBar(book(60, 30))).toBe(`[${"1".repeat(30)}${"2".repeat(15)}${".".repeat(15)}]`);
  });

  it("shows what exceeds the machine behind a bar", () => {
    expect(memoryBar(book(120, 10))).toBe(`[${"1".repeat(60)}|22222`);
  });

  it("never leaves a terminal of 80 columns, whatever is declared", () => {
    expect(memoryBar(book(60, 92))).toBe(`[${"1".repeat(30)}${"2".repeat(30)}|${"2".repeat(16)}`);
    for (const gib of [94, 1e6, 1e308]) {
      expect(memoryBar(book(60, gib))).toBe(
        `[${"1".repeat(30)}${"2".repeat(30)}|${"2".repeat(15)}+`,
      );
    }
  });

  it.each([60, 40, 20])("fits a terminal of %i columns", (width) => {
    for (const gib of [30, 60, 1e6])
      expect(`  ${memoryBar(book(60, gib), width)}`.length).toBeLessThanOrEqual(
        Math.max(width, 30),
      );
  });

  it("adds up by running totals: many small lines are not rounded away", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 500 }), { maxLength: 20 }), (cents) => {
        const amounts = cents.map((each) => each / 100);
        const sum = amounts.reduce((total, each) => total + each, 0);
        const filled = memoryBar(book(...amounts)).replace(/[^1-9a-z]/g, "").length;
        if (sum <= 120) expect(Math.abs(filled - sum / 2)).toBeLessThanOrEqual(0.51);
      }),
    );
  });
});
