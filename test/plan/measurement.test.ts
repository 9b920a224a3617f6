import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { PublishedStart } from "../../components/plan/evidence";
import { readEngineLog } from "../../components/plan/kv";
import {
  compareWithLog,
  measuredLines,
  measurementOf,
  memoryVerdict,
  nextSettings,
  type StartedServer,
} from "../../components/plan/measurement";
import { plan } from "../../components/plan/plan";
import { measured as measuredSchema } from "../../components/settings/measured";
import { stack } from "../fixtures/machine";

const FOLDER = "models/nvidia--Qwen3.6-35B-A3B-NVFP4";
const config: unknown = JSON.parse(readFileSync(`${FOLDER}/config.json`, "utf8"));
const { starts }: { starts: PublishedStart[] } = JSON.parse(readFileSync(`${FOLDER}/starts.json`, "utf8"));
const DIGEST = `sha256:${"0123456789abcdef".repeat(4)}`;

/** The two starts of one DGX Spark that its owner published. */
const RAN = readEngineLog(
  "Available KV cache memory: 23.22 GiB\nGPU KV cache size: 1,960,381 tokens, Maximum concurrency for 262,144 tokens per request: 7.48x\n",
);
const FAILED = readEngineLog(
  "Available KV cache memory: -1.75 GiB\nValueError: No available memory for the cache blocks.\n",
);

const started = (gpuMemoryUtilization: number): StartedServer => ({
  gpuMemoryUtilization,
  totalGiB: 121.63,
  maxNumSeqs: 4,
  image: `vllm/vllm-openai:v0.28.0@${DIGEST}`,
});

function kvOf(gpuMemoryUtilization: number, more: Record<string, unknown> = {}) {
  const server = {
    kvCacheDtype: "fp8",
    gpuMemoryUtilization,
    versions: { vllm: "0.28.0", evidence: "read", source: "test" },
    speculative: { method: "mtp", numSpeculativeTokens: 3 },
    image: started(0.6).image,
    ...more,
  };
  const models = { "org/model": { source: "config.json", config, starts } };
  const kv = plan(stack({}, server), { home: "/home/me", models }).machines[0]?.kv["vllm-model-8001"];
  if (kv == null) throw new Error("no KV plan");
  return kv;
}

describe("what to record of a start", () => {
  const measured = measurementOf(RAN, started(0.6), "2026-08-27");

  it("is what the log says", () => {
    expect(measured).toEqual({
      nonKvGiB: 49.76,
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
      "  nonKvGiB: 49.76",
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
  it("a share for all sequences' whole windows, and a fixed cache with the share that it belongs to", () => {
    expect(
      nextSettings(kvOf(0.45), readEngineLog("Available KV cache memory: 4.97 GiB"), started(0.45)),
    ).toEqual([
      {
        setting: "gpuMemoryUtilization",
        // (49.76 + 4 x 3.104 + 0.022) / 121.63 = 0.5114
        value: 0.52,
        why: "holds 4 whole windows at once (where the other servers leave so much)",
      },
      {
        setting: "kvCacheMemoryBytes",
        value: Math.floor(4.97 * 2 ** 30),
        why: "keeps this size of the KV cache; it belongs to gpuMemoryUtilization 0.45, which vLLM still checks at its start",
      },
    ]);
  });

  it.each([
    [
      "Free memory on device cuda:0 (50.1/121.69 GiB) on startup is less than desired GPU memory utilization (0.45, 54.77 GiB).",
      [["gpuMemoryUtilization", 0.41]],
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
    const next = nextSettings(kvOf(0.4), readEngineLog(text), started(0.4));
    expect(next.map(({ setting, value }) => [setting, value])).toEqual(settings);
  });
});

describe("a probe's verdict", () => {
  it("passes a first start, and says what to record", () => {
    const verdict = memoryVerdict(kvOf(0.6), RAN, started(0.6), "2026-08-27");
    expect(verdict.status).toBe("pass");
    expect(verdict.detail).toBe(
      "Measured 23.22 GiB of KV cache, 7.48 whole windows at once; planned 22.55 to 23.19 GiB, 7.26 to 7.47 (0.1% off).",
    );
    expect(verdict.fix).toContain("measured:\n  nonKvGiB: 49.76\n");
  });

  it("fails a recorded server that is more than 2 % off", () => {
    const record = measurementOf(RAN, started(0.6), "2026-08-27");
    const less = readEngineLog(
      "Available KV cache memory: 20.00 GiB\nGPU KV cache size: 1,688,000 tokens, Maximum concurrency for 262,144 tokens per request: 6.44x",
    );
    expect(memoryVerdict(kvOf(0.6, { measured: record }), RAN, started(0.6), "2026-09-01").status).toBe(
      "pass",
    );
    const off = memoryVerdict(kvOf(0.6, { measured: record }), less, started(0.6), "2026-09-01");
    expect(off.status).toBe("fail");
    expect(off.detail).toContain("16.1% off");
    expect(off.fix).toContain('at: "2026-09-01"');
  });

  it("fails a refusal with what to try, and skips a log that says nothing", () => {
    const refused = memoryVerdict(kvOf(0.4), FAILED, started(0.4), "2026-08-27");
    expect(refused).toEqual({
      status: "fail",
      detail: "The engine did not start: no memory was left for the KV cache.",
      fix: "gpuMemoryUtilization: 0.45 (holds one whole window)",
    });
    expect(memoryVerdict(kvOf(0.4), {}, started(0.4), "2026-08-27").status).toBe("skip");
    expect(memoryVerdict(null, RAN, started(0.6), "2026-08-27").detail).toContain("no plan to compare with");
  });
});
