import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { outcomeOf } from "../../components/memory/starts/figures";
import type { AskedServer } from "../../components/memory/starts/likeness";
import { startVerdict } from "../../components/memory/starts/verdict";
import { BESIDE_WEIGHTS_GIB, weigh } from "../../components/memory/starts/weigh";
import type { SeenStart } from "../../components/planned/schema/seenStart";
import { judged, KNOWN, SAMPLE, type StartVector, vectorsOf } from "../fixtures/judgedStarts";

const ASKED: AskedServer = {
  device: "gb10",
  memory: "unified",
  totalGiB: 121.69,
  vllm: "0.30.0",
  loader: "auto",
  maxNumBatchedTokens: 8192,
  drafts: false,
  gpus: 1,
  weightsGiB: 20.5,
  class: "hybrid",
};

const N1X = { ...ASKED, device: "n1x", totalGiB: 61, loader: "fastsafetensors", drafts: true };
const NEMOCLAW = { ...ASKED, loader: "fastsafetensors", drafts: true, vllm: undefined };

describe("the sample's model, where NVIDIA and others ran it", () => {
  it.each<[string, AskedServer, number, object, readonly string[]]>([
    ["N1x at 0.4, which failed", N1X, 0.4, {}, ["cannot start", "may start"]],
    [
      "N1x at 0.6 with a window of 32,768",
      { ...N1X, maxNumBatchedTokens: 4096 },
      0.6,
      { windowGiB: 0.46 },
      ["starts", "may start"],
    ],
    ["DGX Spark at 0.4 as NemoClaw ships it", NEMOCLAW, 0.4, {}, ["may start"]],
    [
      "one of two at 0.35 with 4 GiB of cache",
      ASKED,
      0.35,
      { windowGiB: 0.46, cacheGiB: 4 },
      ["starts", "may start"],
    ],
    ["the sample at 0.45", { ...ASKED, totalGiB: 121.63 }, 0.45, {}, ["starts"]],
  ])("%s", (_, asked, share, more, verdicts) => {
    expect(verdicts).toContain(judged(asked, share, more).verdict);
  });

  it("took 2.4 GiB beside its weights on an RTX 5090, which lies in the range there", () => {
    const card = { device: "rtx-5090", memory: "own", totalGiB: 31.4, vllm: "0.24.0" } as const;
    const { chargedGiB } = judged({ ...ASKED, ...card }, 0.92, { windowGiB: 1.4 });
    expect(chargedGiB.low).toBeLessThanOrEqual(22.91);
    expect(chargedGiB.high).toBeGreaterThanOrEqual(22.91);
  });
});

const VECTORS = vectorsOf(KNOWN);

/** What is known without the author of a vector, whose other starts would tell it. */
const unseen = ({ model, start, asked, utilization }: StartVector) =>
  judged(asked, utilization, {
    ...{ model, windowGiB: 0.1, without: ({ author }: SeenStart) => author === start.author },
    ...(start.kvCacheMemoryBytes === null ? {} : { cacheGiB: start.kvCacheMemoryBytes / 2 ** 30 }),
  });

describe("published starts, each by what others published", () => {
  it.each(VECTORS.map((vector) => [vector.name, vector] as const))("%s", (_, vector) => {
    const { verdict } = unseen(vector);
    const outcome = outcomeOf(vector.start);
    if (outcome === "started") expect(verdict).not.toBe("cannot start");
    // Nobody but one owner saw so much as 29.9 GiB beside the weights, twice.
    if (outcome === "no-kv-room" && vector.start.author !== "owner0827")
      expect(verdict).not.toBe("starts");
  });

  it("lie in the range for 15 of 19 on unified memory, half of the ranges narrower than 16 GiB", () => {
    const measured = VECTORS.filter(
      ({ start, charged = 0, weightsGiB }) => start.memory === "unified" && charged >= weightsGiB,
    ).map((vector) => ({ charged: vector.charged ?? 0, range: unseen(vector).chargedGiB }));
    const within = measured.filter(
      ({ charged, range: { low, high } }) => charged >= low - 0.01 && charged <= high + 0.01,
    );
    const widths = measured.map(({ range: { low, high } }) => high - low).sort((a, b) => a - b);
    expect([within.length, measured.length]).toEqual([15, 19]);
    expect(widths[Math.floor(widths.length / 2)]).toBeLessThan(16);
  });
});

describe("likeness", () => {
  const like: Partial<SeenStart> = {
    ...{ device: "gb10", memory: "unified", totalGiB: 121.63, vllm: "0.28.0", loader: "auto" },
    ...{ maxNumBatchedTokens: 8192, draftTokens: 0, utilization: 0.5, availableKvGiB: 30 },
  };
  const [template] = KNOWN.flatMap(({ starts }) => starts);
  const weighedWith = (...given: Partial<SeenStart>[]) => {
    if (template === undefined) throw new Error("no start is known");
    const starts = given.map(
      (each, index): SeenStart => ({
        ...template,
        ...{ kvCacheMemoryBytes: null, ranks: 1, lines: {}, takenGiB: null, compileCache: null },
        ...{ author: `author ${index}`, outcome: "started", maxModelLen: 262144 },
        ...like,
        ...each,
      }),
    );
    const own = { model: "org/model", class: "hybrid" as const, weightsGiB: null, starts };
    return weigh(ASKED, { own, others: [], windowGiB: () => 2.66 });
  };

  it.each<[string, Partial<SeenStart>, string[]]>([
    ["its like", {}, []],
    ["a total 4 % away", { totalGiB: 117 }, []],
    ["a total 6 % away", { totalGiB: 114.4 }, ["GiB in all: 114.4"]],
    ["another device", { device: "n1x" }, ["device: n1x"]],
    ["another loader", { loader: "fastsafetensors" }, ["loader: fastsafetensors"]],
    ["an unknown loader", { loader: null }, ["loader: not known"]],
    ["twice the batch", { maxNumBatchedTokens: 16_384 }, []],
    ["four times the batch", { maxNumBatchedTokens: 32_768 }, ["tokens in a batch: 32768"]],
    ["drafts", { draftTokens: 3 }, ["drafts: with"]],
    ["vLLM three minor versions away", { vllm: "0.27.1" }, ["vLLM: 0.27.1"]],
  ])("%s", (_, more, differs) => {
    expect(weighedWith(more).own.map((each) => each.differs)).toEqual([differs]);
  });

  it("a start of its like is the server's own figure", () => {
    const { basis, chargedGiB } = weighedWith({});
    expect(basis).toBe("like");
    expect([chargedGiB.low, chargedGiB.high]).toEqual([30.82, 30.82]);
  });

  it("a larger batch bounds it from above, a smaller one from below", () => {
    const larger = weighedWith({ maxNumBatchedTokens: 16_384 }).chargedGiB;
    expect(larger).toEqual({ low: 20.5 + BESIDE_WEIGHTS_GIB.low, high: 30.82 });
    const smaller = weighedWith({ maxNumBatchedTokens: 4096, availableKvGiB: 40 });
    expect([smaller.basis, smaller.chargedGiB]).toEqual([
      "any",
      { low: 20.82, high: 20.5 + BESIDE_WEIGHTS_GIB.high },
    ]);
  });

  it("a cache in bytes says nothing of what was charged", () => {
    expect(weighedWith({ kvCacheMemoryBytes: 2 ** 32 }).own).toEqual([]);
  });

  it("two people's failures are needed for `cannot start`, one leaves it open", () => {
    const failed = { availableKvGiB: -1, outcome: "no-kv-room" } as const;
    const figures = { totalGiB: 121.69, budgetGiB: 60.8, weightsGiB: 20.5, windowGiB: 2.66 };
    expect(startVerdict(figures, weighedWith(failed)).verdict).toBe("may start");
    expect(startVerdict(figures, weighedWith(failed, failed)).verdict).toBe("cannot start");
    expect(startVerdict(figures, weighedWith(failed, failed, {})).verdict).toBe("may start");
  });
});

it("every start that the catalogue knows says each of its fields, if only that it isn't known", () => {
  for (const file of ["models/starts.json", `models/${SAMPLE.replace("/", "--")}/starts.json`]) {
    const { starts, models = [{ starts }] } = JSON.parse(readFileSync(file, "utf8"));
    for (const each of models.flatMap((model: { starts: object[] }) => model.starts))
      expect(Object.keys(each)).toEqual(
        expect.arrayContaining(["device", "totalGiB", "vllm", "loader", "maxNumBatchedTokens"]),
      );
  }
});
