import { readFileSync } from "node:fs";
import { kvPlan, modelShape, readEngineLog } from "@local-serving/kv";
import { describe, expect, it } from "vitest";
import { kvFacts } from "../../components/memory/kvFacts";
import { judgeStart } from "../../components/memory/measurement/verdict";
import { plan } from "../../components/plan/plan";
import type { Evidence, ModelEvidence } from "../../components/planned/evidence";
import { type StackSettings, stackSettings } from "../../components/settings/stackSettings";
import { DIGEST, serverInput } from "../fixtures/machine";
import { startsOf } from "../fixtures/starts";

type Keys = Record<string, unknown>;

const configOf = (folder: string): unknown =>
  JSON.parse(readFileSync(`models/${folder}/config.json`, "utf8"));
const DEEPSEEK = configOf("nvidia--DeepSeek-V4-Flash-NVFP4");

const link = (last: number) => ({ interface: "enp1s0f1np1", address: `192.168.100.${last}` });

/** A server over two machines, or with other keys. */
function pair(server: Keys = {}, second: Keys = {}): StackSettings {
  const nodes = { nodes: ["dgx1", "dgx2"], tensorParallelSize: 2 };
  const machine = { totalGiB: 121.69, instanceA: "none" };
  const b = serverInput({
    model: { id: "org/model" },
    ...nodes,
    gpuMemoryUtilization: 0.8,
    maxModelLen: 131_072,
    ...server,
  });
  return stackSettings.parse({
    machines: {
      dgx1: { ...machine, link: link(1), inferenceServers: { b } },
      dgx2: { ...machine, link: link(2), dockerHost: "ssh://me@dgx2", ...second },
    },
  });
}

function planned(
  server: Keys = {},
  model: Partial<ModelEvidence> = {},
  second: Keys = {},
  more: Partial<Evidence> = {},
) {
  const evidence = {
    source: "models/org--model/config.json",
    config: DEEPSEEK,
    weightsGB: 167,
    ...model,
  };
  const made = plan(pair(server, second), {
    home: "/home/me",
    models: { "org/model": evidence },
    ...more,
  });
  const [head] = made.machines;
  const container = head?.inferenceServers[0]?.container.name ?? "";
  return {
    kv: head?.kv[container] ?? null,
    needs: head?.starts[container],
    said: made.warnings
      .filter(({ machine }) => machine === "dgx1")
      .map(({ code, message }) => `${code}: ${message}`),
  };
}

const row = (kv: ReturnType<typeof planned>["kv"], label: string) =>
  kv === null ? undefined : kvFacts(kv).find(([name]) => name === label)?.[1];

const START = { utilization: 0.75, availableKvGiB: 8.33, ranks: 2 };

describe("a rank of a server over two machines", () => {
  it("loads half of the weights, and its room is what they leave", () => {
    const { kv, needs, said } = planned();
    expect(kv?.room).toEqual({
      basis: "estimated",
      lowGiB: -10.32,
      highGiB: 16.68,
      outsideGiB: { low: 80.67, high: 107.67 },
      source: "77.77 GiB of weights for each of 2 ranks, and beside them what any model took",
    });
    expect(row(kv, "weights")).toBe(
      "167 GB, 83.5 GB for each of 2 ranks, possible with tuning and a reduced context (45 to 90 GB)",
    );
    expect(needs?.weightsGiB).toBeCloseTo(77.77, 2);
    expect(said).toContain(
      "weights: b: 83.5 GB of weights on each rank are above the comfortable 45 GB. They are possible with tuning and a reduced context (45 to 90 GB).",
    );
  });

  it("alone would have to load all of them", () => {
    const { kv, said } = planned({ nodes: undefined, tensorParallelSize: 1 });
    expect(kv?.room.outsideGiB.low).toBe(158.43);
    expect(said).toContain(
      "weights: b: 167 GB of weights are above the comfortable 45 GB. They are too large for one machine (over 100 GB): two or more linked machines can share it (`nodes`).",
    );
  });

  it("knows starts of as many ranks, and of no others", () => {
    const alone = { ...START, availableKvGiB: 20, ranks: 1 };
    const two = planned({ gpuMemoryUtilization: 0.75 }, { starts: startsOf(START, alone) });
    expect(two.kv?.room).toMatchObject({ basis: "published", lowGiB: 8.33, highGiB: 8.33 });
    const one = planned(
      { nodes: undefined, tensorParallelSize: 1 },
      { starts: startsOf(START, alone) },
    );
    expect(one.kv?.room).toMatchObject({
      basis: "published",
      outsideGiB: { low: 71.27, high: 71.27 },
    });
    expect(planned({}, { starts: startsOf(alone) }).kv?.room.basis).toBe("estimated");
  });

  it("takes a record of as many ranks, and says of another that it no longer counts", () => {
    const record = {
      nonKvGiB: 82.94,
      kvTokens: 1_306_505,
      maxConcurrency: 1.25,
      at: "2026-08-12",
      image: DIGEST,
    };
    const own = planned({ measured: { ...record, ranks: 2 } });
    expect([own.kv?.room.basis, own.kv?.room.outsideGiB.low]).toEqual(["measured", 82.94]);
    const other = planned({ measured: record });
    expect(other.kv?.room.basis).toBe("estimated");
    expect(other.said.map((each) => each.split(":")[0])).toContain("measurement-stale");
  });

  it("has as many blocks as the machine with the least memory holds", () => {
    const { kv } = planned({}, {}, { totalGiB: 119.7 });
    const least = planned({}, {}, {}).kv;
    expect(kv?.least).toEqual({ machine: "dgx2", totalGiB: 119.7 });
    expect(kv?.room.highGiB).toBe(15.09);
    expect([kv?.numBlocks, least?.least]).toEqual([0, undefined]);
    expect(row(kv, "room")).toBe(
      "-11.91 to 15.09 GiB, an estimate before its first start, per rank, as on dgx2",
    );
    const read = planned({}, {}, {}, { meminfo: { dgx2: { totalGiB: 119.7, availableGiB: 100 } } });
    expect(read.kv?.room.highGiB).toBe(15.09);
  });

  it("has no KV plan as a stage of a pipeline, and needs nothing that isn't known", () => {
    const { kv, needs, said } = planned({ tensorParallelSize: 1, pipelineParallelSize: 2 });
    expect([kv, needs]).toEqual([null, { modelWindow: 1_048_576 }]);
    expect(said).toContain(
      "kv-unknown: b: its KV cache isn't planned. With `pipelineParallelSize` above 1 each stage caches its own layers, which the plan can't divide.",
    );
  });
});

describe("a start of two ranks, by the head's log", () => {
  const log = (available: number, concurrency: string) =>
    readEngineLog(
      `Available KV cache memory: ${available} GiB\nGPU KV cache size: 1,256,039 tokens, Maximum concurrency for 1,048,576 tokens per request: ${concurrency}x\n`,
    );
  const { kv } = planned(
    { gpuMemoryUtilization: 0.75, maxModelLen: 1_048_576, maxNumBatchedTokens: 4096 },
    { starts: startsOf({ ...START, maxNumBatchedTokens: 4096 }) },
  );
  const server = {
    gpuMemoryUtilization: 0.75,
    totalGiB: 121.69,
    maxNumSeqs: 1,
    image: DIGEST,
    gpus: 2,
    largestUtilization: 0.75,
  };
  const judged = (available: number, concurrency: string) => {
    if (kv === null) throw new Error("no plan");
    return judgeStart(kv, log(available, concurrency), server, "2026-08-12");
  };

  it("is as planned, and recorded with its ranks", () => {
    const { status, record } = judged(8.33, "1.20");
    expect(status).toBe("pass");
    expect(record).toEqual([
      "measured:",
      "  chargedGiB: 82.94",
      "  kvTokens: 1256039",
      "  maxConcurrency: 1.2",
      "  ranks: 2",
      '  at: "2026-08-12"',
      `  image: ${DIGEST}`,
    ]);
  });

  it("is recorded with what the other rank left, where that is less", () => {
    const { status, record } = judged(9.5, "1.20");
    expect([status, record[1]]).toEqual(["pass", "  chargedGiB: 82.93"]);
    expect(judged(8.33, "1.40").status).toBe("fail");
  });
});

/** What people published of two DGX Sparks, and how near the plan is. */
describe("published figures of two machines", () => {
  it.each([
    ["DeepSeek-V4-Flash-0731, MiaAI #160", 167, 79.17, -0.0177],
    ["DeepSeek-V4-Flash-0731, NVIDIA/dgx-spark-playbooks #97", 167, 79.07, -0.0165],
    ["Qwen3-235B-A22B-GPTQ-Int4, conselara.dev", 118, 57.64, -0.0467],
  ])("weights of a rank of %s", (_, weightsGB, seenGiB, off) => {
    const half = planned({}, { weightsGB }).needs?.weightsGiB ?? 0;
    expect(half / seenGiB - 1).toBeCloseTo(off, 4);
  });

  it.each([
    ["NVIDIA/dgx-spark-playbooks #97", 8.33, 1_306_505, -0.0386],
    ["MiaAI #160, whose tokens are rounded", 17.6, 2_600_000, 0.0207],
  ])(
    "tokens of DeepSeek-V4-Flash at a window of 1,048,576 and batches of 4,096: %s",
    (_, gib, seen, off) => {
      const engine = {
        kvCacheDtype: "fp8",
        maxModelLen: 1_048_576,
        maxNumBatchedTokens: 4096,
        draftTokens: 5,
      } as const;
      const { tokens } = kvPlan(
        modelShape(DEEPSEEK),
        { ...engine, tensorParallelSize: 2 },
        Math.floor(gib * 2 ** 30),
      );
      expect(tokens / seen - 1).toBeCloseTo(off, 4);
    },
  );

  it("a share of 0.75 and of 0.835 leave what their logs said, between least and most", () => {
    for (const [gpuMemoryUtilization, seen] of [
      [0.75, 8.33],
      [0.835, 17.6],
    ] as const) {
      const room = planned({ gpuMemoryUtilization }).kv?.room;
      expect(room?.lowGiB).toBeLessThan(seen);
      expect(room?.highGiB).toBeGreaterThan(seen);
    }
  });
});
