import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { kvFacts } from "../../components/memory/kvFacts";
import { plan } from "../../components/plan/plan";
import type { Evidence, ModelEvidence } from "../../components/planned/evidence";
import { DIGEST, stack } from "../fixtures/machine";
import { TWO_STARTS, TWO_WITH_DRAFTS } from "../fixtures/starts";

const FOLDER = "models/nvidia--Qwen3.6-35B-A3B-NVFP4";
const config: unknown = JSON.parse(readFileSync(`${FOLDER}/config.json`, "utf8"));
const MODEL = { config, starts: TWO_STARTS, weightsGB: 22 };
const measured = {
  nonKvGiB: 49.79,
  kvTokens: 1_960_381,
  maxConcurrency: 7.48,
  at: "2026-08-27",
  image: DIGEST,
};

const DEFAULTS = { kvCacheDtype: "fp8", maxNumSeqs: 4, maxNumBatchedTokens: 8192 };

function planned(
  server: Record<string, unknown> = {},
  model: Partial<ModelEvidence> | "unknown" = MODEL,
  machine: Record<string, unknown> = {},
  evidence: Partial<Evidence> = {},
) {
  const models =
    model === "unknown"
      ? {}
      : { "org/model": { source: "models/org--model/config.json", ...model } };
  const { machines, warnings } = plan(stack(machine, { ...DEFAULTS, ...server }), {
    home: "/home/me",
    models,
    ...evidence,
  });
  const said = warnings
    .filter(({ code }) => /^(kv|window|measurement|utilization)/.test(code))
    .map(({ code, message }) => `${code}: ${message}`);
  return {
    kv: machines[0]?.kv["vllm-model-8001"] ?? null,
    said,
    codes: said.map((each) => each.split(":")[0]),
    isOpen: warnings.some(({ message }) => message.includes("has not been measured yet")),
  };
}

describe("room for the KV cache", () => {
  it("of a model with published starts lies between them: the default stack", () => {
    const { kv } = planned();
    expect(kv?.room).toEqual({
      basis: "published",
      lowGiB: 4.3,
      highGiB: 4.94,
      outsideGiB: { low: 49.79, high: 50.43 },
      source: "what its like took (starts: 2, published by: 1)",
    });
    expect(kv?.maxConcurrency.toFixed(2)).toBe("1.63");
    expect(kv?.atBest.maxConcurrency.toFixed(2)).toBe("1.87");
  });

  it("with the record's three drafts holds 1.4 to 1.6 whole windows", () => {
    const { kv } = planned(
      { speculative: { method: "mtp", numSpeculativeTokens: 3 } },
      { ...MODEL, starts: TWO_WITH_DRAFTS },
    );
    expect([kv?.blockSize, kv?.blocksPerRequest]).toEqual([2144, 138]);
    expect([kv?.maxConcurrency.toFixed(2), kv?.atBest.maxConcurrency.toFixed(2)]).toEqual([
      "1.38",
      "1.59",
    ]);
  });

  it("is estimated from the weights with the margin that was seen, by the stack file before the index", () => {
    const byIndex = planned({}, { config, weightsGB: 22 }).kv?.room;
    expect(byIndex).toMatchObject({ basis: "estimated", outsideGiB: { low: 23.39, high: 50.39 } });
    expect(byIndex).toMatchObject({ lowGiB: 4.34, highGiB: 31.34 });
    const bySetting = planned(
      { model: { id: "org/model", weightsGB: 22.5 } },
      { config, weightsGB: 22 },
    ).kv?.room;
    expect(bySetting?.outsideGiB.low).toBe(23.85);
    const loaded = planned(
      { model: { id: "org/model", residentGiB: 11 } },
      { config, weightsGB: 22 },
    ).kv?.room;
    expect(loaded?.outsideGiB.low).toBe(13.9);
  });

  it("is exact once it was measured, and the next start is predicted to within 2 %", () => {
    const { kv, codes, isOpen } = planned({
      measured,
      gpuMemoryUtilization: 0.6,
      image: `vllm/vllm-openai:v0.28.0@${DIGEST}`,
      versions: { vllm: "0.28.0", evidence: "read", digest: DIGEST, source: "test" },
      speculative: { method: "mtp", numSpeculativeTokens: 3 },
    });
    expect(kv?.room).toMatchObject({
      basis: "measured",
      lowGiB: 23.19,
      highGiB: 23.19,
      source: "measured on 2026-08-27",
    });
    expect(Math.abs((kv?.maxConcurrency ?? 0) / 7.48 - 1)).toBeLessThan(0.02);
    expect(isOpen).toBe(false);
    expect(codes).not.toContain("measurement-stale");
  });

  it("takes no measurement of another image", () => {
    const other = { ...measured, image: `sha256:${"f".repeat(64)}` };
    const { kv, codes, isOpen } = planned({ measured: other, maxModelLen: 500 });
    expect(kv?.room.basis).toBe("published");
    expect(codes).toContain("measurement-stale");
    expect(isOpen).toBe(true);
  });

  it("is what kvCacheMemoryBytes says, and a budget that it exceeds is told", () => {
    const { kv, said } = planned({ kvCacheMemoryBytes: 6 * 2 ** 30 });
    expect(kv?.room).toMatchObject({ basis: "setting", lowGiB: 6, highGiB: 6 });
    expect(said.join("\n")).toContain(
      "may not start: it takes at least 55.79 GiB, and its share is 54.73.",
    );
    expect(said.join("\n")).toContain(
      "A `gpuMemoryUtilization` of 0.47 would cover both, but at most 0.45 fits on this machine: lower `kvCacheMemoryBytes`.",
    );
    const alone = planned({ kvCacheMemoryBytes: 6 * 2 ** 30 }, MODEL, { instanceA: "none" }).said;
    expect(alone.join("\n")).toContain("Set `gpuMemoryUtilization` to 0.47.");
  });

  it("grows with the utilization and never turns blocks or concurrency negative", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 89 }), (percent) => {
        const at = (share: number) => planned({ gpuMemoryUtilization: share / 100 }).kv;
        const [less, more] = [at(percent), at(percent + 1)];
        expect(more?.room.lowGiB).toBeGreaterThan(less?.room.lowGiB ?? Number.NaN);
        expect(more?.numBlocks).toBeGreaterThanOrEqual(less?.numBlocks ?? Number.NaN);
        expect(less?.numBlocks).toBeGreaterThanOrEqual(0);
        expect(less?.maxConcurrency).toBeGreaterThanOrEqual(0);
        expect(less?.agents.every((agent) => agent.atOnce >= 0)).toBe(true);
      }),
      { numRuns: 25 },
    );
  });
});

describe("what a plan says of the KV cache", () => {
  it("fewer whole windows than sequences, and the agents that work at once", () => {
    expect(planned().said.filter((each) => each.startsWith("kv"))).toEqual([
      "kv-queue: b: 1.63 to 1.87 full windows run at once, other requests wait. 4.30 to 4.94 GiB for the KV cache holds no more of 262,144 tokens, but `maxNumSeqs` is 4. 4 agents of 30K + 32K tokens or 4 agents of 40K + 32K tokens can work at once.",
    ]);
    expect(planned({ maxModelLen: 65_536 }).codes).not.toContain("kv-queue");
  });

  it.each([
    [
      0.4,
      "kv-room: b: may not start: its window needs 2.66 GiB, -1.78 to -1.14 is left. A `gpuMemoryUtilization` of 0.44 holds one request for certain. Or start it and record what it measures (`serving verify --only memory --record`). One request of 262,144 tokens needs 2.66 GiB with the block that vLLM keeps free of KV cache. The room for it is -1.78 to -1.14 GiB (published).",
    ],
    [
      0.433,
      "kv-room: b: may not start: its window needs 2.66 GiB, 2.24 to 2.88 is left. A `gpuMemoryUtilization` of 0.44 holds one request for certain. A `maxModelLen` of at most 220080 fits without that change. Or start it and record what it measures (`serving verify --only memory --record`). One request of 262,144 tokens needs 2.66 GiB with the block that vLLM keeps free of KV cache. The room for it is 2.24 to 2.88 GiB (published).",
    ],
    // One request alone would fit. vLLM asks for a block more.
    [
      0.4364,
      "kv-room: b: may not start: its window needs 2.66 GiB, 2.65 to 3.29 is left. A `gpuMemoryUtilization` of 0.44 holds one request for certain. A `maxModelLen` of at most 262000 fits without that change. Or start it and record what it measures (`serving verify --only memory --record`). One request of 262,144 tokens needs 2.66 GiB with the block that vLLM keeps free of KV cache. The room for it is 2.65 to 3.29 GiB (published).",
    ],
  ])("at %f", (gpuMemoryUtilization, warning) => {
    const { said } = planned({ gpuMemoryUtilization });
    expect(said.filter((each) => each.startsWith("kv"))).toEqual([warning]);
  });

  it.each([
    [
      0.3,
      "kv-room: b: may not start: its window needs 2.66 GiB, -13.90 to 13.10 is left. A `gpuMemoryUtilization` of 0.44 holds one request even with the most that any start is known to have taken. Or start it and record what it measures (`serving verify --only memory --record`). One request of 262,144 tokens needs 2.66 GiB with the block that vLLM keeps free of KV cache. The room for it is -13.90 to 13.10 GiB, an estimate before its first start.",
    ],
    // What cannot start is a policy's to refuse.
    [0.2, undefined],
  ])("at %f, of a model without a log of its own: an estimate", (gpuMemoryUtilization, warning) => {
    const { kv, said } = planned({ gpuMemoryUtilization }, { config, weightsGB: 22 });
    expect(said.find((each) => each.startsWith("kv"))).toBe(warning);
    expect(Object.fromEntries(kv === null ? [] : kvFacts(kv)).room).toMatch(
      /, an estimate before its first start$/,
    );
  });

  it("names a share only where the machine leaves it, and none where the cache has a size of its own", () => {
    const said = (server: Record<string, unknown>, machine: Record<string, unknown> = {}) =>
      planned({ gpuMemoryUtilization: 0.4, ...server }, MODEL, machine).said.find((each) =>
        each.startsWith("kv-"),
      );
    expect(said({}, { operatingSystemGiB: 17 })).toMatch(
      /of 0\.44 holds one request for certain, but at most 0\.39 fits on this machine\. Or start it/,
    );
    expect(said({}, { totalGiB: 40, operatingSystemGiB: 4 })).toBeUndefined();
    const share = (gpuMemoryUtilization: number) => planned({ gpuMemoryUtilization }).kv?.fits;
    expect([share(0.44), share(0.43)]).toEqual([true, false]);
    const size = (kvCacheMemoryBytes: number) => planned({ kvCacheMemoryBytes }).kv?.fits;
    expect([size(2_854_584_320), size(2 ** 30)]).toEqual([true, false]);
  });

  it("offers the longest window that fits", () => {
    const [warning = ""] = planned({ gpuMemoryUtilization: 0.43 }).said.filter((each) =>
      each.startsWith("kv-room"),
    );
    const longest = Number(/`maxModelLen` of at most (\d+) fits/.exec(warning)?.[1]);
    const fits = (maxModelLen: number) =>
      planned({ gpuMemoryUtilization: 0.43, maxModelLen }).kv?.fits;
    expect([fits(longest), fits(longest + 1)]).toEqual([true, false]);
  });

  it("a share at which vLLM was never seen to start", () => {
    const codes = (share: number, machine = {}) =>
      planned({ gpuMemoryUtilization: share }, MODEL, { instanceA: "none", ...machine }).codes;
    expect(codes(0.84)).toContain("utilization-high");
    // What doesn't fit is refused.
    expect(codes(0.84, { otherGpuMemoryGiB: 40 })).not.toContain("utilization-high");
    expect(codes(0.83)).not.toContain("utilization-high");
    const said = (share: number) =>
      planned({ gpuMemoryUtilization: share }, MODEL, { instanceA: "none" }).said.find((each) =>
        each.startsWith("utilization-high"),
      );
    const after = "a boot a DGX Spark was reported to have only 102 of 121.69 GiB available.";
    expect(said(0.84)).toContain(
      `GiB available at once. The plan has room for it. But after ${after}`,
    );
  });

  it("a window above the measured one compiles kernels anew", () => {
    const codes = (maxModelLen: number) => planned({ measured, maxModelLen }).codes;
    expect(codes(262_144)).not.toContain("window-raised");
    expect(codes(300_000)).toContain("window-raised");
  });

  it("a window above the applied one compiles kernels anew, whatever was measured", () => {
    const raised = (applied: number, more: Record<string, unknown> = {}) =>
      planned(more, MODEL, {}, { appliedWindows: { dgx: { b: applied } } }).said.filter((each) =>
        each.startsWith("window-raised"),
      );
    expect(raised(131_072)).toEqual([
      "window-raised: b: `maxModelLen` is raised from 131072 to 262144. Kernels are compiled again for the new tile sizes, so the next start takes 10 to 15 minutes longer.",
    ]);
    expect(raised(262_144, { measured, maxModelLen: 262_144 })).toEqual([]);
    expect(raised(300_000, { measured, maxModelLen: 300_000 })).toEqual([]);
  });

  it("as many agents as their own answers leave", () => {
    const agents = (clients: Record<string, unknown>) =>
      planned({}, MODEL, { clients }).kv?.agents.map(({ maxTokens, atOnce }) => [
        maxTokens,
        atOnce,
      ]);
    expect(agents({})).toEqual([
      [32_000, 4],
      [32_000, 4],
    ]);
    const claudeCode = { via: "native", maxOutputTokens: 64_000 };
    expect(agents({ claudeCode, opencode: { maxOutputTokens: 8_000 } })).toEqual([
      [64_000, 4],
      [64_000, 3],
    ]);
  });
});

describe("a model of which too little is known", () => {
  it.each<[string, Record<string, unknown>, Partial<ModelEvidence> | "unknown", string]>([
    [
      "no config",
      {},
      "unknown",
      "its KV cache isn't planned. No config.json of org/model was found: put it into models/org--model/ (`serving models add`, or with `--from-cache` from the machine's model cache). A plan made on the machine itself reads that cache.",
    ],
    [
      "GGUF",
      { model: { id: "org/model-GGUF:Q4_K_M" } },
      "unknown",
      "its KV cache isn't planned. By its name org/model-GGUF:Q4_K_M is GGUF, of which no config.json is read.",
    ],
    [
      "broken config",
      {},
      { problem: "no valid JSON: x" },
      "models/org--model/config.json: no valid JSON: x",
    ],
    ["no size", {}, { config }, "set `model.weightsGB`"],
    [
      "another architecture",
      {},
      {
        config: { ...(config as object), text_config: undefined, hybrid_override_pattern: "M*M" },
        weightsGB: 22,
      },
      "hybrid_override_pattern",
    ],
    [
      "a format that is not planned",
      { kvCacheDtype: "turboquant_3bit" },
      { config, weightsGB: 22 },
      "turboquant_3bit",
    ],
  ])("%s: no plan, and why", (_, server, model, words) => {
    const { kv, said } = planned(server, model);
    expect(kv).toBeNull();
    const [unknown, ...more] = said.filter((each) => each.startsWith("kv"));
    expect(unknown).toContain("kv-unknown: b: its KV cache isn't planned.");
    expect(unknown).toContain(words);
    expect(more).toEqual([]);
  });

  it("names flags that the plan does not follow, and takes the state's format from extraArgs", () => {
    const { said } = planned({ extraArgs: ["--block-size", "64"] });
    expect(said).toContain("kv-note: b: The KV plan ignores --block-size.");
    const state = (extraArgs: string[]) => planned({ extraArgs }).kv?.blockSize;
    expect(state(["--mamba-ssm-cache-dtype", "bfloat16"])).toBeLessThan(state([]) ?? 0);
    expect(state(["--mamba-ssm-cache-dtype=bfloat16"])).toBe(
      state(["--mamba-ssm-cache-dtype", "bfloat16"]),
    );
  });

  it("says where a turn of an agent finds less than 90 % of its last prompt, and what finds more", () => {
    const said = (server: Record<string, unknown>) =>
      planned({ speculative: { method: "mtp", numSpeculativeTokens: 3 }, ...server }).said.filter(
        (each) => each.startsWith("kv-reuse"),
      );
    expect(said({})).toEqual([
      'kv-reuse: b: an agent\'s turn reuses 90 %, at worst 85 % of its last prompt. With `extraArgs: [--prefix-match-unit, "16"]`: 99 %, at worst 99 %. It reuses only whole blocks, and one block less with draft tokens.',
    ]);
    expect(said({ extraArgs: ["--prefix-match-unit", "16"] })).toEqual([]);
    expect(said({ prefixCaching: false })).toEqual([]);
    expect(planned().codes).not.toContain("kv-reuse");
  });
});
