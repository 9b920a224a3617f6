import { readFileSync } from "node:fs";
import { readEngineLog } from "@local-serving/kv";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { nextSettings } from "../../components/memory/measurement/nextSettings";
import {
  measuredLines,
  measurementOf,
  type StartedServer,
} from "../../components/memory/measurement/record";
import { compareWithLog, judgeStart } from "../../components/memory/measurement/verdict";
import { plan } from "../../components/plan/plan";
import { measured as measuredSchema } from "../../components/settings/measured";
import { stack } from "../fixtures/machine";
import { TWO_WITH_DRAFTS } from "../fixtures/starts";

const FOLDER = "models/nvidia--Qwen3.6-35B-A3B-NVFP4";
const config: unknown = JSON.parse(readFileSync(`${FOLDER}/config.json`, "utf8"));
const DIGEST = `sha256:${"0123456789abcdef".repeat(4)}`;
const RECORD_END = ['  at: "2026-08-27"', `  image: ${DIGEST}`];

/** The two starts of one DGX Spark that its owner published. */
const RAN = readEngineLog(
  "Available KV cache memory: 23.22 GiB\nGPU KV cache size: 1,960,381 tokens, Maximum concurrency for 262,144 tokens per request: 7.48x\n",
);
const FAILED = readEngineLog(
  "Available KV cache memory: -1.75 GiB\nValueError: No available memory for the cache blocks.\n",
);

const started = (gpuMemoryUtilization: number, largestUtilization = 0.9): StartedServer => ({
  gpuMemoryUtilization,
  totalGiB: 121.63,
  maxNumSeqs: 4,
  gpus: 1,
  image: `vllm/vllm-openai:v0.28.0@${DIGEST}`,
  largestUtilization,
});

function kvOf(gpuMemoryUtilization: number, more: Record<string, unknown> = {}) {
  const server = {
    kvCacheDtype: "fp8",
    gpuMemoryUtilization,
    versions: { vllm: "0.28.0", evidence: "read", digest: DIGEST, source: "test" },
    speculative: { method: "mtp", numSpeculativeTokens: 3 },
    image: started(0.6).image,
    ...more,
  };
  const models = {
    "org/model": { source: "config.json", config, starts: TWO_WITH_DRAFTS, weightsGB: 22 },
  };
  const kv = plan(stack({}, server), { home: "/home/me", models }).machines[0]?.kv[
    "vllm-model-8001"
  ];
  if (kv == null) throw new Error("no KV plan");
  return kv;
}

describe("what to record of a start", () => {
  const measured = measurementOf(RAN, started(0.6), "2026-08-27");

  it("is what the log says", () => {
    expect(measured).toEqual({
      chargedGiB: 49.76,
      kvTokens: 1_960_381,
      maxConcurrency: 7.48,
      at: "2026-08-27",
      image: DIGEST,
    });
    expect(measurementOf(FAILED, started(0.4), "2026-08-27")).toBeUndefined();
  });

  it("is printed as lines that the stack file's schema takes", () => {
    const lines = measured === undefined ? [] : measuredLines(measured);
    expect(lines).toEqual([
      "measured:",
      "  chargedGiB: 49.76",
      "  kvTokens: 1960381",
      "  maxConcurrency: 7.48",
      '  at: "2026-08-27"',
      `  image: ${DIGEST}`,
    ]);
    expect(measuredSchema.parse(parse(lines.join("\n")).measured)).toEqual(measured);
  });

  it("makes the next plan agree with the log to within 2 %", () => {
    const kv = kvOf(0.6, { measured });
    expect(kv.room).toMatchObject({ basis: "measured", lowGiB: 23.22, highGiB: 23.22 });
    expect(Math.abs(kv.maxConcurrency / 7.48 - 1)).toBeLessThan(0.02);
    expect(compareWithLog(kv, RAN)).toMatchObject({ off: 0, layoutAgrees: true });
  });

  it("predicts the other start of the same machine: no room at 0.4", () => {
    const kv = kvOf(0.4, { measured });
    expect(kv.room.lowGiB).toBe(-1.11);
    expect(kv.starts).toBe(false);
  });
});

describe("predicted against measured", () => {
  it("a start inside the published range is not off", () => {
    expect(compareWithLog(kvOf(0.6), RAN)).toEqual({
      room: { lowGiB: 22.55, highGiB: 23.19, measuredGiB: 23.22 },
      concurrency: { low: 7.260869565217392, high: 7.471014492753623, measured: 7.48 },
      off: expect.closeTo(0.0013, 4),
      layoutAgrees: true,
    });
  });

  it("another layout than planned is seen", () => {
    expect(compareWithLog(kvOf(0.6, { speculative: undefined }), RAN)?.layoutAgrees).toBe(false);
  });
});

describe("what to try next", () => {
  const room = (gib: string) => readEngineLog(`Available KV cache memory: ${gib} GiB`);
  const tried = (...of: Parameters<typeof nextSettings>) =>
    nextSettings(...of).map(({ setting, value }) => [setting, value]);
  const pinned = ["kvCacheMemoryBytes", Math.floor(4.97 * 2 ** 30)];

  it("a share for all sequences' whole windows, and a fixed cache with the share that it belongs to", () => {
    expect(nextSettings(kvOf(0.45), room("4.97"), started(0.45))).toEqual([
      {
        setting: "gpuMemoryUtilization",
        // (49.76 + 4 x 3.104 + 0.022) / 121.63 = 0.5114
        value: 0.52,
        why: "holds 4 whole windows at once",
      },
      {
        setting: "kvCacheMemoryBytes",
        value: Math.floor(4.97 * 2 ** 30),
        why: "keeps the KV cache at this size; set it together with gpuMemoryUtilization 0.45, which vLLM still checks at its start. No memory is then reserved for the peak of a long prompt: test one with `serving verify --only long-prompt`",
      },
    ]);
  });

  it("beside others a share that they leave, and the window that it holds", () => {
    // (0.48 x 121.63 - 49.76) GiB are 8.62, 383 blocks of 2144 tokens: 95 each for 4, 15 of them
    // for states.
    expect(tried(kvOf(0.45), room("4.97"), started(0.45, 0.48))).toEqual([
      ["gpuMemoryUtilization", 0.48],
      ["maxModelLen", 80 * 2144],
      pinned,
    ]);
    const [share] = nextSettings(kvOf(0.45), room("4.97"), started(0.45, 0.48));
    expect(share?.why).toBe(
      "the most that the other servers leave; 4 whole windows at once would need 0.52",
    );
  });

  it("where no more is left, only a shorter window: as many of it fit, and one block more does not", () => {
    const next = nextSettings(kvOf(0.45), room("4.97"), started(0.45, 0.45));
    const window = next.find((each) => each.setting === "maxModelLen")?.value ?? 0;
    expect(next.map((each) => each.setting)).toEqual(["maxModelLen", "kvCacheMemoryBytes"]);
    const measured = {
      chargedGiB: 49.76,
      kvTokens: 1,
      maxConcurrency: 1,
      at: "2026-08-27",
      image: DIGEST,
    };
    const at = (maxModelLen: number) => kvOf(0.45, { measured, maxModelLen }).fullWindowsAtOnce;
    expect([at(window), at(window + 1)]).toEqual([4, 3]);
  });

  it("nothing but the fixed size where every sequence has its window", () => {
    expect(tried(kvOf(0.6), room("23.22"), started(0.6)).map(([setting]) => setting)).toEqual([
      "kvCacheMemoryBytes",
    ]);
  });

  it("no fixed size that would not hold one window", () => {
    expect(tried(kvOf(0.45), room("2.00"), started(0.45)).map(([setting]) => setting)).toEqual([
      "gpuMemoryUtilization",
    ]);
  });

  it.each([
    [
      "Free memory on device cuda:0 (50.1/121.69 GiB) on startup is less than desired GPU memory utilization (0.45, 54.77 GiB).",
      [["gpuMemoryUtilization", 0.41]],
    ],
    [
      "Free memory on device cuda:0 (0.4/121.69 GiB) on startup is less than desired GPU memory utilization (0.45, 54.77 GiB).",
      [],
    ],
    [
      "Available KV cache memory: -1.75 GiB\nNo available memory for the cache blocks",
      [["gpuMemoryUtilization", 0.45]],
    ],
    [
      "To serve at least one request with the model's max seq len (262144), (3.1 GiB KV cache is needed, which is larger than the available KV cache memory (2.5 GiB). Based on the available memory, the estimated maximum model length is 205824.",
      [
        ["gpuMemoryUtilization", 0.41],
        ["maxModelLen", 205_824],
      ],
    ],
    ["max_num_seqs (256) exceeds available Mamba cache blocks (139)", [["maxNumSeqs", 139]]],
    ["Error in memory profiling. Initial free memory 60 GiB", []],
  ])("after %s", (text, settings) => {
    expect(tried(kvOf(0.4), readEngineLog(text), started(0.4))).toEqual(settings);
  });

  it("after no room at all, no share that the others don't leave", () => {
    expect(tried(kvOf(0.4), FAILED, started(0.4, 0.4))).toEqual([]);
    // (0.43 x 121.63 - 50.40) GiB are 1.90: less than one whole window takes.
    expect(tried(kvOf(0.4), FAILED, started(0.4, 0.43)).map(([setting]) => setting)).toEqual([
      "gpuMemoryUtilization",
      "maxModelLen",
    ]);
  });
});

describe("a start, judged", () => {
  const RECORD = measurementOf(RAN, started(0.6), "2026-08-27");

  it("passes the first time, and says what to record", () => {
    const verdict = judgeStart(kvOf(0.6), RAN, started(0.6), "2026-08-27");
    expect(verdict).toMatchObject({
      status: "pass",
      detail:
        "measured 23.22 GiB of KV cache, 7.48 whole windows at once; planned 22.55 to 23.19 GiB (published), 7.26 to 7.47, 0.1 % off",
      record: [
        "measured:",
        "  chargedGiB: 49.76",
        "  kvTokens: 1960381",
        "  maxConcurrency: 7.48",
        ...RECORD_END,
      ],
    });
  });

  it("passes a recorded server that starts as recorded, with nothing new to record", () => {
    const verdict = judgeStart(kvOf(0.6, { measured: RECORD }), RAN, started(0.6), "2026-09-01");
    expect([verdict.status, verdict.record]).toEqual(["pass", []]);
  });

  it("fails a recorded server that is more than 2 % off", () => {
    const less = readEngineLog(
      "Available KV cache memory: 20.00 GiB\nGPU KV cache size: 1,688,000 tokens, Maximum concurrency for 262,144 tokens per request: 6.44x",
    );
    const off = judgeStart(kvOf(0.6, { measured: RECORD }), less, started(0.6), "2026-09-01");
    expect(off.status).toBe("fail");
    expect(off.detail).toContain("16.1 % off");
    expect(off.record).toContain('  at: "2026-09-01"');
  });

  it("fails a refusal with what to try", () => {
    expect(judgeStart(kvOf(0.4), FAILED, started(0.4), "2026-08-27")).toEqual({
      status: "fail",
      detail: "it did not start: no memory was left for the KV cache",
      record: [],
      next: [{ setting: "gpuMemoryUtilization", value: 0.45, why: "holds one whole window" }],
    });
  });

  it("fails blocks that are not as planned, and proposes nothing that rests on them", () => {
    const verdict = judgeStart(
      kvOf(0.6, { speculative: undefined }),
      RAN,
      started(0.6),
      "2026-08-27",
    );
    expect([verdict.status, verdict.next]).toEqual(["fail", []]);
    expect(verdict.detail).toContain(
      "blocks and requests differ from the plan: check the recorded vLLM version",
    );
  });

  it("skips a log that says nothing, and records nothing of one that was started with a fixed size", () => {
    expect(judgeStart(kvOf(0.4), {}, started(0.4), "2026-08-27").status).toBe("skip");
    const fixed = readEngineLog(
      "Initial free memory 70 GiB, reserved 6.0 GiB memory for KV Cache as specified by kv_cache_memory_bytes config and skipped memory profiling.\nGPU KV cache size: 500,000 tokens, Maximum concurrency for 262,144 tokens per request: 1.91x",
    );
    const verdict = judgeStart(kvOf(0.45), fixed, started(0.45), "2026-08-27");
    expect(verdict).toMatchObject({ status: "pass", record: [] });
    expect(verdict.detail).toMatch(/^1\.91 whole windows at once; .* nothing to record$/);
  });

  it("says what was measured where there is no plan", () => {
    const verdict = judgeStart({ none: "the plan has no figure" }, RAN, started(0.6), "2026-08-27");
    expect(verdict.detail).toBe(
      "measured 23.22 GiB of KV cache, 7.48 whole windows at once; the plan has no figure",
    );
    expect(verdict.record[0]).toBe("measured:");
  });
});
