import { describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { draftCrashes } from "../../components/supply/draftCrashes";
import reports from "../../components/supply/draftCrashes.json";
import { stack } from "../fixtures/machine";

const ID = "nvidia/Qwen3.6-35B-A3B-NVFP4";
const mtp = (count: number, more: { id?: string; method?: string; vllm?: string } = {}) =>
  draftCrashes({ id: ID, method: "mtp", count, ...more });

describe("drafts that broke servers before", () => {
  it.each<[string, number, { id?: string; method?: string }, readonly string[]]>([
    ["one draft", 1, {}, []],
    ["two drafts", 2, {}, ["186"]],
    ["three", 3, {}, ["308", "186", "40756"]],
    ["more than in any report", 8, {}, ["308", "308", "186", "40756", "37035"]],
    ["the model's own method", 3, { method: "qwen3_next_mtp" }, ["308", "186", "40756"]],
    ["another method", 8, { method: "eagle3" }, []],
    ["another family", 8, { id: "openai/gpt-oss-120b" }, []],
    ["Gemma 4", 4, { id: "google/gemma-4-31B-it" }, ["48848"]],
  ])("are told by method, model and count: %s", (_, count, more, issues) => {
    const said = mtp(count, more) ?? "";
    expect([...said.matchAll(/issue (\d+)/g)].map(([, issue]) => issue)).toEqual(issues);
  });

  it("are those of a model's class, too", () => {
    const config = { model_type: "qwen3_5_moe_text" };
    expect(draftCrashes({ id: "/models/own", config, method: "mtp", count: 2 })).toContain("186");
    expect(draftCrashes({ id: "/models/own", method: "mtp", count: 2 })).toBeUndefined();
  });

  it("say what is known of a newer vLLM, and of one that was seen nothing", () => {
    const newer = " No report of vLLM 0.30.0 is known, for or against.";
    expect(mtp(3, { vllm: "0.30.0" })).toContain(newer);
    expect(mtp(3, { vllm: "0.27.1" })).not.toContain("No report");
    expect(mtp(3)).not.toContain("No report");
  });

  it("have versions, counts and sources, and families that exist", () => {
    for (const each of reports.crashes) {
      expect(Object.keys(reports.families)).toContain(each.family);
      expect(each.source).toMatch(/^[\w.-]+\/[\w.-]+ issue \d+$/);
      expect(each.drafts).toBeGreaterThan(0);
    }
  });
});

it("a plan warns of them, and not without the setting that it says to delete", () => {
  const warned = (speculative?: unknown) =>
    plan(stack({}, { model: { id: ID }, speculative }), { home: "/home/me" })
      .warnings.filter(({ code }) => code === "drafts-crash")
      .map(({ message }) => message);
  expect(warned({ method: "mtp", numSpeculativeTokens: 2 })).toEqual([
    "b: drafts by mtp have broken servers of such a model. If it dies of a CUDA fault, delete `speculative`. Seen: an illegal memory access shortly after the first request; without drafts more than 100 were answered (2 drafts, vLLM 0.19.1rc1, a DGX Spark: eugr/spark-vllm-docker issue 186, 2026-04-15). No report of vLLM 0.30.0 is known, for or against.",
  ]);
  expect(warned()).toEqual([]);
});
