import { demandOf, humanReadableInteger } from "@local-serving/vllm/argv/memoryDemand";
import { readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { takenGiB } from "@local-serving/vllm/utilization";
import { describe, expect, it } from "vitest";
import { ledger } from "../../components/memory/ledger";
import { admissionOnPaper } from "../../components/memory/machineMemory";
import { plan } from "../../components/plan/plan";
import { TYPE } from "../../components/planned/type";
import { declaredResources } from "../../components/program/machine/declaredResources";
import { judge } from "../../policies/judge";
import { DIGEST, serverInput, stack } from "../fixtures/machine";
import { container, declared, IMAGE, said } from "../policies/declared";

const GIB = 2 ** 30;
const TOTAL = 121.63;
const WEIGHTS = { id: "org/model", family: "qwen3", thinking: true, weightsGB: 22 };

function planned(machine: Record<string, unknown>, server: Record<string, unknown>) {
  return plan(stack(machine, server), { home: "/home/me" });
}

function refusals(machine: Record<string, unknown>, server: Record<string, unknown>) {
  return judge(declaredResources(planned(machine, server))).filter(
    ({ verdict }) => verdict === "refused",
  );
}

describe("what a server with a KV cache of fixed size takes", () => {
  const b = { name: "B", utilization: 0.1, kvCacheGiB: 54, outsideGiB: 20, ours: true };

  it.each([
    ["its share, where that is more", { kvCacheGiB: 8, outsideGiB: 20 }, 0.45 * TOTAL],
    ["what lies outside the cache and the cache", { kvCacheGiB: 54, outsideGiB: 20 }, 74],
    ["its share and the cache, where the rest isn't known", { kvCacheGiB: 54 }, 0.45 * TOTAL + 54],
    ["its share, without such a cache", { outsideGiB: 90 }, 0.45 * TOTAL],
  ])("is %s", (_, more, gib) => {
    expect(takenGiB({ utilization: 0.45, ...more }, TOTAL)).toBeCloseTo(gib, 6);
  });

  it.each([
    [
      "taken",
      { outsideIs: "taken" },
      "20 GiB taken outside the KV cache while it served + 54 GiB of kvCacheMemoryBytes, more than gpuMemoryUtilization 0.1 of 121.63 GiB",
    ],
    [
      "charged",
      { outsideIs: "charged" },
      "20 GiB charged outside the KV cache by vLLM's profile + 54 GiB of kvCacheMemoryBytes, more than gpuMemoryUtilization 0.1 of 121.63 GiB",
    ],
    [
      "the share",
      { outsideIs: "charged", utilization: 0.7 },
      "gpuMemoryUtilization 0.7 of 121.63 GiB, at least the 20 GiB charged outside the KV cache by vLLM's profile + 54 GiB of kvCacheMemoryBytes",
    ],
  ] as const)("says that it counted %s", (_, more, source) => {
    expect(ledger(TOTAL, [{ ...b, ...more }], []).lines[0]?.source).toBe(source);
  });

  it("counts in the ledger, in the aggregate and in what fits beside it", () => {
    const book = ledger(TOTAL, [b, { name: "C", utilization: 0.1, ours: true }], []);
    expect(book.lines[0]).toMatchObject({ gib: 74, basis: "setting" });
    expect(book.aggregateUtilization).toBeCloseTo(74 / TOTAL + 0.1, 3);
    expect(book.largestUtilizationThatFits.C).toBe(0.29);
    expect(book.fixedKvCache).toEqual({ B: { kvCacheGiB: 54, outsideGiB: 20 } });
  });

  it("leaves no share that fits where the cache alone is too much", () => {
    const a = { name: "A", utilization: 0.45, ours: false };
    expect(ledger(TOTAL, [a, b], []).largestUtilization).toEqual({
      B: { bySum: 0, byAggregate: 0 },
    });
    expect(ledger(TOTAL, [a, { ...b, kvCacheGiB: 30 }], []).largestUtilizationThatFits).toEqual({
      B: 0.45,
    });
    const { outsideGiB: _, ...unknown } = b;
    expect(
      ledger(TOTAL, [a, { ...unknown, kvCacheGiB: 30 }], []).largestUtilizationThatFits,
    ).toEqual({
      B: 0.2,
    });
  });

  it("counts in the admission of a meminfo", () => {
    const meminfo = { totalGiB: TOTAL, availableGiB: 117 };
    const [start] = admissionOnPaper(meminfo, undefined, [{ ...b, kvCacheGiB: 100 }]);
    expect(start).toMatchObject({ wantedGiB: 120, admitted: false });
  });
});

describe("the size of a KV cache, as vLLM reads it", () => {
  it.each([
    ["120G", 120 * GIB],
    ["120g", 120e9],
    ["1.5g", 1.5e9],
    ["512M", 512 * 2 ** 20],
    ["8_000", 8000],
    [" 24932245504 ", 24_932_245_504],
    ["1T", 2 ** 40],
  ])("%s is %i bytes", (written, bytes) => {
    expect(humanReadableInteger(written)).toBe(bytes);
  });

  it.each(["1.5G", "-1", "8GiB", "8GB", "many", "", "1e9"])("%s is none", (written) => {
    expect(humanReadableInteger(written)).toBeUndefined();
  });

  it.each([
    ["--kv-cache-memory-bytes", "8G"],
    ["--kv-cache-memory-bytes=8G"],
    ["--kv_cache_memory_bytes", "8G"],
    ["--kv-cache-memory=8G"],
    ["--kv-cache-mem", "8G"],
    ["--kv-cache-memory-bytes=1", "--kv-cache-memory-bytes=8G"],
  ])("is found in %s %s", (...words) => {
    expect(demandOf(readServerArguments(["m", ...words]))).toMatchObject({
      memory: { kvCacheGiB: 8 },
    });
  });

  it("of 0 is none, for vLLM too", () => {
    expect(demandOf(readServerArguments(["m", "--kv-cache-memory=0"]))).toEqual({
      known: true,
      byDefault: true,
      memory: { utilization: 0.92 },
    });
  });
});

describe("a stack file with kvCacheMemoryBytes", () => {
  it("is refused at 54 GiB beside instance A at 0.45, by both rules", () => {
    const found = refusals({}, { kvCacheMemoryBytes: 54 * GIB, model: WEIGHTS });
    expect(found.map(({ name }) => name)).toEqual(["aggregate-utilization", "memory-sum"]);
    expect(found[0]?.message).toContain(
      "claim 1.0625 of its memory, and 0.90 is the limit. Lower --kv-cache-memory-bytes of b by 19.77 GiB or more.",
    );
    expect(found[1]?.message).toContain(
      "No `gpuMemoryUtilization` fits for b: lower or remove its `kvCacheMemoryBytes`",
    );
  });

  it("adds the bytes to the share where the weights aren't known", () => {
    const [found] = refusals({}, { kvCacheMemoryBytes: 20 * GIB });
    expect(found?.name).toBe("aggregate-utilization");
    expect(found?.message).toContain(
      "20.00 GiB of --kv-cache-memory-bytes + 54.73 its share, as its weights are not known",
    );
  });

  it("goes by what was measured before the weights", () => {
    const measured = {
      nonKvGiB: 50,
      kvTokens: 1000,
      maxConcurrency: 1,
      at: "2026-11-21",
      image: `sha256:${DIGEST.slice("sha256:".length)}`,
    };
    const [found] = refusals({}, { kvCacheMemoryBytes: 20 * GIB, model: WEIGHTS, measured });
    expect(found?.message).toContain("+ 50.00 outside its KV cache");
  });

  it("passes for the published pair of 0.35 and 0.35, whose weights have room beside them", () => {
    const one = { gpuMemoryUtilization: 0.35, kvCacheMemoryBytes: 8 * GIB, model: WEIGHTS };
    const inferenceServers = {
      b: serverInput(one),
      c: serverInput({ ...one, servedModelName: "other", port: 8002 }),
    };
    const machine = { instanceA: "none", inferenceServers };
    expect(refusals(machine, {})).toEqual([]);
    const [dgx] = plan(stack(machine), { home: "/home/me" }).machines;
    expect(dgx?.ledger.lines.filter(({ name }) => name.includes("beside its weights"))).toEqual([]);
  });
});

describe("a container of one's own with --kv-cache-memory-bytes", () => {
  const machine = declared(TYPE.machine, "dgx", {
    machine: "dgx",
    totalGiB: TOTAL,
    hostInstance: "none",
    servers: [],
  });

  it.each([
    [
      "its machine has not so much",
      [machine],
      "120G",
      "own 1.0866 (120.00 GiB of --kv-cache-memory-bytes + 12.16 its share",
    ],
    ["no total is declared", [], "120G", "the machine's total is not known"],
    [
      "the size can't be read",
      [machine],
      "1.5G",
      "`--kv-cache-memory-bytes` is `1.5G`, which is not a size",
    ],
  ])("is refused where %s", (_, machines, size, words) => {
    const command = ["m", "--gpu-memory-utilization", "0.1", "--kv-cache-memory-bytes", size];
    const [found, ...more] = said("aggregate-utilization", [
      ...machines,
      container("own", { image: IMAGE, command }),
    ]);
    expect(found).toMatch(/^refused: /);
    expect(found).toContain(words);
    expect(more).toEqual([]);
  });
});
