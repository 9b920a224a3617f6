import { describe, expect, it } from "vitest";
import { readCatalogue } from "../../components/catalogue/readCatalogue";
import { servedSpeed, speedTexts } from "../../components/memory/servedSpeed";
import type { PublishedSpeeds } from "../../components/planned/evidence";
import { inferenceServer } from "../../components/settings/inferenceServer";

const IMAGE = `vllm/vllm-openai:v0.30.0@sha256:${"a".repeat(64)}`;
const MTP = { method: "mtp", numSpeculativeTokens: 3 };
const from = { source: "somebody", date: "2026-11-22" };
const known: PublishedSpeeds = {
  decode: [
    { tokensPerSecond: 90, ...from, vllm: "0.28", drafts: 3 },
    { tokensPerSecond: 40, ...from },
  ],
  settings: { moeBackend: "marlin", maxModelLen: 4096 },
  draft: MTP,
  machines: 1,
};
const PLAIN = { tokensPerSecond: 40, on: "a DGX Spark", ...from };
const DRAFTED = { ...PLAIN, tokensPerSecond: 90, vllm: "0.28", drafts: 3 };

const speedOf = (changes: object = {}, speeds: PublishedSpeeds | undefined = known) =>
  servedSpeed(
    inferenceServer.parse({
      model: { id: "org/model", thinking: false },
      servedModelName: "model",
      image: IMAGE,
      gpuMemoryUtilization: 0.5,
      maxModelLen: 2048,
      moeBackend: "marlin",
      ...changes,
    }),
    speeds,
  );

describe("how fast a server answers as it is set", () => {
  it("is the figure without drafts, and beside it the one with them", () => {
    expect(speedOf()).toEqual({ decode: PLAIN, withDrafts: DRAFTED });
  });

  it("is the figure with just its drafts where it has some, and no second one", () => {
    expect(speedOf({ speculative: MTP })).toEqual({ decode: DRAFTED });
    expect(speedOf({ speculative: { ...MTP, numSpeculativeTokens: 2 } })).toEqual({ decode: null });
    expect(speedOf({ speculative: { ...MTP, method: "eagle3" } })).toEqual({ decode: null });
  });

  it.each([
    ["another backend", { moeBackend: "cutlass" }],
    ["a backend that vLLM chooses", { moeBackend: undefined }],
    ["another cache", { kvCacheDtype: "auto" }],
    ["a further variable", { environment: { A: "1" } }],
    ["a further argument", { extraArgs: ["--enforce-eager"] }],
    ["two GPUs", { tensorParallelSize: 2 }],
    ["two machines", { nodes: ["one", "two"], tensorParallelSize: 2 }],
  ])("is not known with %s, nor with drafts", (_, changes) => {
    expect(speedOf(changes)).toEqual({ decode: null });
  });

  it("is not known of another image than the one that the recipe needs", () => {
    const other = { ...known, image: "eugr/spark:latest" };
    expect(speedOf({}, other)).toEqual({ decode: null });
    expect(speedOf({}, { ...known, image: "vllm/vllm-openai:v0.33.0" })?.decode).toEqual(PLAIN);
  });

  it("takes drafts that nobody counted for those of the recipe", () => {
    const decode = [{ tokensPerSecond: 28, ...from, drafts: "unstated" as const }];
    const drafted = { ...PLAIN, tokensPerSecond: 28, drafts: "unstated" };
    expect(speedOf({}, { ...known, decode })).toEqual({ decode: null, withDrafts: drafted });
    expect(speedOf({ speculative: MTP }, { ...known, decode })).toEqual({ decode: drafted });
  });

  it("is what was measured here, of this image alone", () => {
    const measuredSpeeds = { prefill: 2000, decode: 61.2, at: "2026-11-28", image: IMAGE };
    const own = { tokensPerSecond: 61.2, on: "this machine", source: "serving bench" };
    const decode = { ...own, date: "2026-11-28" };
    expect(speedOf({ measuredSpeeds, moeBackend: "cutlass" })?.decode).toEqual(decode);
    const other = { ...measuredSpeeds, image: IMAGE.replaceAll("a".repeat(64), "b".repeat(64)) };
    expect(speedOf({ measuredSpeeds: other })?.decode).toEqual(PLAIN);
  });

  it("is not known without any figure, and nothing of a model that writes no text", () => {
    expect(speedOf({}, { ...known, decode: [] })).toEqual({ decode: null });
    expect(speedOf({ model: { id: "a/b", kind: "embedding", thinking: false } })).toBeUndefined();
  });

  it("is said with whose figure it is", () => {
    expect(speedTexts({ decode: PLAIN, withDrafts: DRAFTED })).toEqual({
      decode: "40 tokens/s (a DGX Spark: somebody)",
      withDrafts: "90 with drafts",
    });
    expect(speedTexts({ decode: { ...DRAFTED, drafts: 3 } })).toEqual({
      decode: "90 tokens/s (a DGX Spark, vLLM 0.28, 3 drafts: somebody)",
    });
    expect(speedTexts({ decode: null })).toEqual({ decode: "not known" });
  });
});

it("has no range, guess or version among the conditions of a recipe's speed", () => {
  // With any of them a speed would be none of what a stack file gets.
  for (const { speeds } of readCatalogue(process.cwd()))
    for (const { with: how = "" } of speeds)
      expect(how).not.toMatch(/\d to \d|^about|^\d+ drafts?|vLLM \d/);
});
