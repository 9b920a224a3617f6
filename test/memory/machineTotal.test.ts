import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plannedTotal, totalFault } from "../../components/memory/machineMemory";
import { plan } from "../../components/plan/plan";
import { stack } from "../fixtures/machine";

/** MemTotal 127,600,592 kB, as seen on several machines; others have 121.63. */
const SPARK = 127_600_592 / 1024 ** 2;

describe("a declared total against the machine's own", () => {
  it.each([
    ["as it is, with two places", 121.69, SPARK, undefined],
    ["a little less than it is", 121.63, SPARK, undefined],
    [
      "more than there is, by however little",
      121.69,
      121.63,
      "totalGiB is 121.69, but the machine has 121.63. Set `totalGiB: 121.63`. The plan counts 0.06 GiB that don't exist.",
    ],
    [
      "the 128 of the data sheet",
      128,
      SPARK,
      "totalGiB is 128, but the machine has 121.69. Set `totalGiB: 121.69`. The plan counts 6.31 GiB that don't exist.",
    ],
    [
      "much less",
      119,
      SPARK,
      "totalGiB is 119, but the machine has 121.69. Set `totalGiB: 121.69`. vLLM takes its share of the machine's memory, so the plan's figures are too small.",
    ],
  ])("%s", (_, declared, machine, fault) => {
    expect(totalFault(declared, machine)).toBe(fault);
  });

  it("what it says to set is right", () => {
    fc.assert(
      fc.property(fc.integer({ min: 8 * 1024 ** 2, max: 2 ** 31 }), (kib) => {
        const real = kib / 1024 ** 2;
        const set = Number(/totalGiB: ([\d.]+)`/.exec(totalFault(4096, real) ?? "")?.[1]);
        expect(totalFault(set, real)).toBeUndefined();
      }),
    );
  });

  it("is planned with, unless the machine has less", () => {
    expect([
      plannedTotal(121.63, SPARK),
      plannedTotal(121.69, SPARK),
      plannedTotal(121.63, undefined),
    ]).toEqual([121.63, 121.69, 121.63]);
    expect(plannedTotal(128, SPARK)).toBe(121.69);
  });
});

describe("a plan with the machine's meminfo", () => {
  const planned = (totalGiB: number, machineGiB: number) =>
    plan(stack({ totalGiB }), {
      home: "/home/me",
      meminfo: { dgx: { totalGiB: machineGiB, availableGiB: machineGiB - 3 } },
    });

  it("adds up against what the machine has, where that is less than declared", () => {
    const { machines, warnings } = planned(121.63, 23.5);
    expect(machines[0]?.ledger).toMatchObject({
      totalGiB: 23.5,
      lines: [
        { gib: 10.58, source: "gpuMemoryUtilization 0.45 of 23.5 GiB" },
        {},
        { gib: 10.58 },
        {},
        { gib: 3 },
      ],
    });
    expect(warnings.filter(({ code }) => code === "total-differs")).toEqual([
      { machine: "dgx", code: "total-differs", message: totalFault(121.63, 23.5) },
    ]);
  });

  it("stays with what is declared where the machine has a little more", () => {
    const { machines, warnings } = planned(121.63, SPARK);
    expect(machines[0]?.ledger.totalGiB).toBe(121.63);
    expect(warnings.map(({ code }) => code)).not.toContain("total-differs");
  });
});
