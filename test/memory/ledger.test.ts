import { GIB_PER_GB } from "@local-serving/base/units/memory";
import { downToHundredth, sumOfUtilizations } from "@local-serving/vllm/utilization";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ledger, type MemoryShare } from "../../components/memory/ledger";

const TOTAL = 121.63;
const share = (name: string, utilization: number, ours = true): MemoryShare => ({
  name,
  utilization,
  ours,
});
const pair = (a: number, b: number) => ledger(TOTAL, [share("A", a, false), share("B", b)], []);
const gibOf = (book: ReturnType<typeof ledger>, name: string) =>
  book.lines.find((line) => line.name === name)?.gib;

describe("the specification's figures", () => {
  it("0.45 takes 54.73 GiB and 0.72 takes 87.57 of 121.63", () => {
    expect(gibOf(pair(0.72, 0.45), "A")).toBe(87.57);
    expect(gibOf(pair(0.72, 0.45), "B")).toBe(54.73);
  });

  it("0.72 + 0.45 is 142.3 GiB, 0.45 + 0.45 is 109.5, overshoot aside", () => {
    const servers = (a: number, b: number) =>
      pair(a, b)
        .lines.filter((line) => !line.name.includes("overshoot"))
        .reduce((sum, line) => sum + line.gib, 0);
    expect(servers(0.72, 0.45)).toBeCloseTo(142.3, 2);
    expect(servers(0.45, 0.45).toFixed(1)).toBe("109.5");
  });

  it("each server brings 0.94 GiB of overshoot", () => {
    expect(gibOf(pair(0.45, 0.45), "B: overshoot")).toBe(0.94);
    expect(pair(0.45, 0.45).sumGiB).toBe(111.34);
  });

  it("0.45 + 0.45 is exactly 0.90", () => {
    expect(pair(0.45, 0.45).aggregateUtilization).toBe(0.9);
    expect(sumOfUtilizations([0.1, 0.2, 0.6])).toBe(0.9);
  });
});

describe("the largest utilization that fits", () => {
  it("is the smaller of aggregate and sum", () => {
    expect(pair(0.45, 0.1).largestUtilizationThatFits).toEqual({ B: 0.45 });
    expect(pair(0.72, 0.1).largestUtilizationThatFits).toEqual({ B: 0.18 });
    const crowded = ledger(
      TOTAL,
      [share("A", 0.45, false), share("B", 0.1)],
      [{ name: "operating system", gib: 20, basis: "measured", source: "test" }],
    );
    // (121.63 - 54.7335 - 2 x 0.94 - 20) / 121.63 = 0.370...
    expect(crowded.largestUtilizationThatFits).toEqual({ B: 0.37 });
  });

  it("is never below 0, and never offered for instance A", () => {
    expect(pair(1, 0.1).largestUtilizationThatFits).toEqual({ B: 0 });
  });

  it("fits, and a hundredth more does not", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 99 }),
        fc.integer({ min: 0, max: 4000 }),
        fc.integer({ min: 8_000, max: 512_000 }),
        (percentA, osHundredths, totalThousandths) => {
          const total = totalThousandths / 1000;
          const os = {
            name: "os",
            gib: osHundredths / 100,
            basis: "default",
            source: "test",
          } as const;
          const at = (b: number) =>
            ledger(total, [share("A", percentA / 100, false), share("B", b)], [os]);
          const fits = (b: number) => {
            const { aggregateUtilization, sumGiB } = at(b);
            return (
              aggregateUtilization <= 0.9 && Math.round(sumGiB * 100) <= Math.round(total * 100)
            );
          };
          const largest = at(0.01).largestUtilizationThatFits.B ?? Number.NaN;
          if (largest > 0) expect(fits(largest)).toBe(true);
          expect(fits(Math.round((largest + 0.01) * 100) / 100)).toBe(false);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it("says what stands behind it: the sum and the aggregate", () => {
    const around = [
      { name: "chat UI", gib: 1.2, basis: "default", source: "test" },
      { name: "bridge", gib: 0.42, basis: "default", source: "test" },
      { name: "operating system", gib: 4, basis: "default", source: "test" },
    ] as const;
    const book = ledger(TOTAL, [share("A", 0.45, false), share("B", 0.45)], around);
    expect(book.largestUtilization).toEqual({ B: { bySum: 0.48, byAggregate: 0.45 } });
    expect(book.largestUtilizationThatFits).toEqual({ B: 0.45 });
    expect(book.sumGiB).toBe(116.96);
  });

  it("shrinks as a neighbour grows, and the sum grows", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 98 }), (percent) => {
        const [less, more] = [pair(percent / 100, 0.2), pair((percent + 1) / 100, 0.2)];
        expect(more.sumGiB).toBeGreaterThan(less.sumGiB);
        expect(more.largestUtilizationThatFits.B).toBeLessThanOrEqual(
          less.largestUtilizationThatFits.B ?? Number.NaN,
        );
      }),
    );
  });

  it("rounds down", () => {
    expect([0.459, 0.29, 0.45, 0.449999, -0.2].map(downToHundredth)).toEqual([
      0.45, 0.29, 0.45, 0.44, 0,
    ]);
  });
});

describe("the ledger", () => {
  it("sums its lines, to the hundredth", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 100 }), { maxLength: 6 }), (percents) => {
        const book = ledger(
          TOTAL,
          percents.map((percent, index) => share(`s${index}`, percent / 100)),
          [],
        );
        const cents = book.lines.reduce((sum, line) => sum + Math.round(line.gib * 100), 0);
        expect(Math.round(book.sumGiB * 100)).toBe(cents);
        expect(book.lines.every((line) => line.gib >= 0)).toBe(true);
      }),
    );
  });

  it("counts compiling only beyond a server's own budget", () => {
    const small = { ...share("B", 0.2), weightsGiB: 22 * GIB_PER_GB, compileJobs: 2 };
    // 22 GB are 20.49 GiB; with 6.7 and 2 x 8 GiB that is 43.19, and 0.2 of 121.63 is 24.33.
    expect(gibOf(ledger(TOTAL, [small], []), "B: compiling")).toBe(18.86);
    const large = { ...small, utilization: 0.45 };
    expect(gibOf(ledger(TOTAL, [large], []), "B: compiling")).toBeUndefined();
  });
});
