import { readFileSync } from "node:fs";
import { readEngineLog } from "@local-serving/kv";
import { expect, it } from "vitest";
import { measurementOf } from "../../components/memory/measurement/record";
import { plan } from "../../components/plan/plan";
import { DIGEST, stack } from "../fixtures/machine";

const config: unknown = JSON.parse(
  readFileSync("models/nvidia--Qwen3.6-35B-A3B-NVFP4/config.json", "utf8"),
);
const LOG = `Available KV cache memory: 25.00 GiB
GPU KV cache size: 1,960,381 tokens, Maximum concurrency for 262,144 tokens per request: 7.48x
`;
const NEWER =
  "Actual usage is 23.10 GiB for consumed memory (weights + non-torch), 4.20 GiB for peak activation, and 0.30 GiB for CUDAGraph memory. Replace";
const OLDER =
  "Actual usage is 20.50 GiB for weight, 4.20 GiB for peak activation, 2.60 GiB for non-torch memory, and 0.30 GiB for CUDAGraph memory. Replace";

it("what a process holds is the sum of vLLM's own line, of 0.26 and of 0.30", () => {
  expect([NEWER, OLDER].map((line) => readEngineLog(line).takenGiB)).toEqual([27.6, 27.6]);
  expect(readEngineLog(LOG).takenGiB).toBeUndefined();
});

it("is recorded apart from what was charged, with what it ran with", () => {
  const started = {
    ...{ gpuMemoryUtilization: 0.45, totalGiB: 121.63, maxNumSeqs: 4, gpus: 1 },
    ...{ image: `vllm@${DIGEST}`, largestUtilization: 0.9 },
    ran: { maxNumBatchedTokens: 8192, draftTokens: 0, loadFormat: "auto" },
  };
  const { chargedGiB, takenGiB, ...rest } =
    measurementOf(readEngineLog(LOG + NEWER), started, "2026-11-29") ?? {};
  expect([chargedGiB, takenGiB]).toEqual([29.73, 27.6]);
  expect(rest).toMatchObject({ maxNumSeqs: 4, ...started.ran });
});

const RECORD = {
  ...{ chargedGiB: 29.73, takenGiB: 27.6, kvTokens: 1_960_381, maxConcurrency: 7.48 },
  ...{ maxNumSeqs: 4, maxNumBatchedTokens: 8192, draftTokens: 0, loadFormat: "auto" },
  ...{ at: "2026-11-29", image: DIGEST },
};

const planned = (server: Record<string, unknown>) =>
  plan(stack({}, { measured: RECORD, ...server }), {
    home: "/home/me",
    models: { "org/model": { source: "config.json", config, weightsGB: 22 } },
  });

it("is what a plan knows of the server, as long as nothing that decides it has changed", () => {
  const takenWith = (server: Record<string, unknown>) =>
    planned(server).machines[0]?.kv["vllm-model-8001"]?.room.takenGiB;
  expect(takenWith({})).toBe(27.6);
  expect(takenWith({ maxNumBatchedTokens: 16_384 })).toBeUndefined();
});

it.each([
  ["batch", { maxNumBatchedTokens: 16_384 }, "`maxNumBatchedTokens`"],
  ["sequences", { maxNumSeqs: 8 }, "`maxNumSeqs`"],
  ["loader", { loadFormat: "fastsafetensors" }, "`loadFormat`"],
  ["drafts", { speculative: { method: "mtp", numSpeculativeTokens: 3 } }, "`draftTokens`"],
])("a size in bytes is stale with another %s", (_, server, named) => {
  const kvCacheMemoryBytes = 20 * 2 ** 30;
  const stale = (more: Record<string, unknown>) =>
    planned(more).warnings.filter(({ code }) => code === "cache-bytes-stale");
  expect(stale({ kvCacheMemoryBytes })).toEqual([]);
  expect(stale(server)).toEqual([]);
  expect(stale({ kvCacheMemoryBytes, ...server }).map(({ message }) => message)).toEqual([
    expect.stringContaining(named),
  ]);
});
