import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { admissionOnPaper, meminfoUse } from "../../components/memory/machineMemory";
import { plan } from "../../components/plan/plan";
import { stack } from "../fixtures/machine";

const TOTAL = 121.63;
const A = { name: "instance A", utilization: 0.45 };
const B = { name: "b", utilization: 0.45 };
/** Budget and overshoot of 0.45. */
const SHARE = 54.73 + 0.94;

describe("a copy of /proc/meminfo", () => {
  it.each([
    ["nothing runs", TOTAL - 18, "no server", 18],
    ["instance A runs", TOTAL - 18 - SHARE, "instance A", 18],
    ["both run", TOTAL - 5 - 2 * SHARE, "instance A and ours", 5],
    ["A and less than the least of systems", TOTAL - 3 - SHARE, "no server", 58.67],
    ["A and the least of systems", TOTAL - 4 - SHARE, "instance A", 4],
    ["more than nothing and less than A", TOTAL - 54, "no server", 54],
  ])("while %s", (_, availableGiB, running, operatingSystemGiB) => {
    expect(meminfoUse({ totalGiB: TOTAL, availableGiB }, A, [B])).toMatchObject({
      running,
      operatingSystemGiB,
    });
  });

  it("says what was taken to be running", () => {
    expect(meminfoUse({ totalGiB: TOTAL, availableGiB: TOTAL - 18 - SHARE }, A, [B]).source).toBe(
      "meminfo: 121.63 - 47.96 GiB in use, less 55.67 of instance A, taken to be running",
    );
  });

  it("knows of no A where there is none", () => {
    expect(
      meminfoUse({ totalGiB: TOTAL, availableGiB: TOTAL - 18 - SHARE }, undefined, [B]),
    ).toMatchObject({
      running: "ours",
      operatingSystemGiB: 18,
    });
  });

  it("gives the operating system what is in use, no less than nothing and no more", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 12163 }), (hundredths) => {
        const availableGiB = hundredths / 100;
        const { operatingSystemGiB } = meminfoUse({ totalGiB: TOTAL, availableGiB }, A, [B]);
        expect(operatingSystemGiB).toBeGreaterThanOrEqual(0);
        expect(operatingSystemGiB).toBeLessThanOrEqual(TOTAL - availableGiB + 0.01);
      }),
    );
  });
});

describe("vLLM's admission rule on paper", () => {
  it.each([
    ["A is up and there is room", TOTAL - 5 - SHARE, 60.96, true],
    ["A is up and the system is large", TOTAL - 18 - SHARE, 47.96, false],
    ["A is down: its share is taken off first", TOTAL - 18, 47.96, false],
    ["B itself is up: its share is given back", TOTAL - 5 - 2 * SHARE, 60.96, true],
  ])("%s", (_, availableGiB, left, admitted) => {
    expect(admissionOnPaper({ totalGiB: TOTAL, availableGiB }, A, [B])).toEqual([
      { name: "b", wantedGiB: 54.73, availableGiB: left, admitted },
    ]);
  });

  it("starts one after the other", () => {
    const [first, second] = admissionOnPaper({ totalGiB: 100, availableGiB: 95 }, undefined, [
      { name: "b", utilization: 0.5 },
      { name: "c", utilization: 0.44 },
    ]);
    expect(first).toEqual({ name: "b", wantedGiB: 50, availableGiB: 95, admitted: true });
    expect(second).toEqual({ name: "c", wantedGiB: 44, availableGiB: 44.06, admitted: true });
  });
});

describe("a plan with a meminfo", () => {
  const planned = (availableGiB: number, totalGiB = TOTAL) =>
    plan(stack(), { home: "/home/me", meminfo: { dgx: { totalGiB, availableGiB } } });

  it("has a measured operating system, and no warning about an unmeasured one", () => {
    const { machines, warnings } = planned(TOTAL - 8 - SHARE);
    expect(machines[0]?.ledger.lines.at(-1)).toMatchObject({
      name: "operating system",
      gib: 8,
      basis: "measured",
    });
    expect(warnings.map((each) => each.code)).not.toContain("operating-system-unmeasured");
    expect(warnings.map((each) => each.code)).not.toContain("not-admitted");
  });

  it("warns of a start that vLLM would refuse", () => {
    const { warnings } = planned(TOTAL - 18);
    expect(
      warnings.filter((each) => each.code === "not-admitted").map((each) => each.message),
    ).toEqual([
      "vllm-model-8001 would not start: 54.73 GiB wanted, 47.96 available. So much is left by this meminfo after the servers before it.",
    ]);
  });

  it("says that a server may have run with another share when it was read", () => {
    const said = (server: Record<string, unknown>, evidence: object, meminfo = true) =>
      plan(stack({}, server), {
        home: "/home/me",
        ...(meminfo ? { meminfo: { dgx: { totalGiB: TOTAL, availableGiB: 10 } } } : {}),
        ...evidence,
      })
        .warnings.filter(({ code }) => code === "meminfo-other-shares")
        .map(({ message }) => message);
    const applied = { appliedShares: { dgx: { b: 0.45 } } };
    expect(said({ gpuMemoryUtilization: 0.4 }, applied)).toEqual([
      "b: 0.45 was applied when the meminfo was read, not 0.40. The plan takes it that b ran with the declared share. If it ran with the other, the operating system's line is wrong by the difference, 6.08 GiB: stop it (`serving stop b`), and read the meminfo again.",
    ]);
    expect(said({ gpuMemoryUtilization: 0.45 }, applied)).toEqual([]);
    expect(said({ gpuMemoryUtilization: 0.4 }, applied, false)).toEqual([]);
    expect(said({ gpuMemoryUtilization: 0.4 }, {})).toEqual([]);
  });

  it("is of one machine: another's stays unmeasured", () => {
    const { dgx } = stack().machines;
    const machines = { dgx, second: dgx };
    const meminfo = { second: { totalGiB: TOTAL, availableGiB: TOTAL - 8 - SHARE } };
    const ledgers = plan({ machines } as ReturnType<typeof stack>, {
      home: "/home/me",
      meminfo,
    }).machines.map(({ ledger }) => ledger.lines.at(-1));
    expect(ledgers).toMatchObject([
      { gib: 4, basis: "default" },
      { gib: 8, basis: "measured" },
    ]);
  });

  it("says that an A on loopback can't be asked", () => {
    const codes = (listen: string) =>
      plan(stack({ instanceA: { gpuMemoryUtilization: 0.45, listen } }), {
        home: "/home/me",
      }).warnings.map((each) => each.code);
    expect(codes("127.0.0.1")).toContain("gate-cannot-ask");
    expect(codes("0.0.0.0")).not.toContain("gate-cannot-ask");
  });
});
