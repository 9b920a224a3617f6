import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readEngineLog } from "..";

const prefixed = (...lines: string[]) =>
  lines.map((line) => `(EngineCore_DP0 pid=213) INFO 08-27 10:11:12 [x.py:1] ${line}\n`).join("");

describe("the engine's log", () => {
  it.each([
    [
      "one line, from 0.28 on",
      [
        "GPU KV cache size: 1,960,381 tokens, Maximum concurrency for 262,144 tokens per request: 7.48x",
      ],
    ],
    [
      "two lines, up to 0.27",
      [
        "GPU KV cache size: 1,960,381 tokens",
        "Maximum concurrency for 262,144 tokens per request: 7.48x",
      ],
    ],
    [
      "with host memory, 0.33",
      [
        "GPU + host KV cache size: 1,960,381 tokens, Maximum concurrency for 262,144 tokens per request: 7.48x",
      ],
    ],
  ])("%s", (_, lines) => {
    expect(readEngineLog(prefixed("Available KV cache memory: 23.22 GiB", ...lines))).toEqual({
      availableKvGiB: 23.22,
      kvTokens: 1_960_381,
      maxModelLen: 262_144,
      maxConcurrency: 7.48,
    });
  });

  it.each([
    ["Model loading took 20.61 GiB memory and 183.201 seconds", { weightsGiB: 20.61 }],
    ["Available KV cache memory: -1.75 GiB", { availableKvGiB: -1.75 }],
    ["Setting attention block size to 2144 tokens to ensure that", { blockSize: 2144 }],
    ["Add 3 padding layers, may waste at most 10.00% KV cache memory", { paddingLayers: 3 }],
    [
      "use `--kv-cache-memory=24932245504` to fully utilize",
      { kvCacheMemoryBytes: 24_932_245_504 },
    ],
    ["Auto-fit max_model_len: reduced from 262144 to 131,072", { autoFitMaxModelLen: 131_072 }],
    [
      "Free memory on device cuda:0 (50.1/121.69 GiB) on startup is less than desired GPU memory utilization (0.45, 54.77 GiB). Decrease GPU memory utilization",
      {
        refusal: {
          kind: "admission",
          freeGiB: 50.1,
          totalGiB: 121.69,
          utilization: 0.45,
          wantedGiB: 54.77,
        },
      },
    ],
    [
      "ValueError: No available memory for the cache blocks. Try",
      { refusal: { kind: "no-kv-room" } },
    ],
    ["ValueError: Cannot auto-fit max_model_len", { refusal: { kind: "no-kv-room" } }],
    [
      "To serve at least one request with the model's max seq len (262144), (2.64 GiB KV cache is needed, which is larger than the available KV cache memory (1.5 GiB). Based on the available memory, the estimated maximum model length is 131072. Try",
      {
        refusal: {
          kind: "request-does-not-fit",
          maxModelLen: 262_144,
          neededGiB: 2.64,
          availableGiB: 1.5,
          largestMaxModelLen: 131_072,
        },
      },
    ],
    [
      "max_num_seqs (256) exceeds available Mamba cache blocks (139)",
      { refusal: { kind: "too-many-sequences", maxNumSeqs: 256, blocks: 139 } },
    ],
    [
      "Error in memory profiling. Initial free memory 60 GiB, current free memory 70 GiB",
      { refusal: { kind: "profiling-disturbed" } },
    ],
    ["INFO: Application startup complete.", {}],
  ])("%s", (line, figures) => {
    expect(readEngineLog(prefixed(line))).toEqual(figures);
  });

  it("lets the last start count: a refusal before it is over, one after it is not", () => {
    const failed = [
      "Available KV cache memory: -1.75 GiB",
      "No available memory for the cache blocks",
    ];
    const ran = [
      "Available KV cache memory: 4.61 GiB",
      "Maximum concurrency for 4,096 tokens per request: 9.00x",
    ];
    expect(readEngineLog(prefixed(...failed, ...failed, ...ran))).toEqual({
      availableKvGiB: 4.61,
      // The line with the tokens is gone.
      kvTokens: 36_864,
      maxModelLen: 4096,
      maxConcurrency: 9,
    });
    expect(readEngineLog(prefixed(...ran, ...failed))).toMatchObject({
      availableKvGiB: -1.75,
      refusal: { kind: "no-kv-room" },
    });
  });

  it("reads any text without harm", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (text) => {
        expect(readEngineLog(text)).toEqual({});
      }),
    );
  });
});
