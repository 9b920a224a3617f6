import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { disputedBy } from "../../components/catalogue/disputed";
import { recipe, sourceIssues } from "../../components/catalogue/recipe";
import { readModels } from "../../components/evidence/readModels";
import { plan } from "../../components/plan/plan";
import type { Disputed } from "../../components/planned/evidence";
import { stack } from "../fixtures/machine";

const ID = "nvidia/Qwen3.6-35B-A3B-NVFP4";
const read = (file: string) => recipe.parse(parse(readFileSync(file, "utf8")));

it("a recipe names both sources of a setting that was reported against", () => {
  const own = read("models/nvidia--Qwen3.6-35B-A3B-NVFP4/recipe.yaml");
  expect(disputedBy(own)).toEqual([
    {
      setting: "speculative",
      value: { method: "mtp" },
      against: expect.stringContaining("(NVIDIA/NemoClaw issue 7127, PR 8248, 2026-08-04)"),
      for: expect.stringContaining("published: vllm-project/recipes, PR #918"),
    },
    {
      setting: "moeBackend",
      value: "marlin",
      against: expect.stringContaining("(vllm-project/vllm issue 49926, 2026-08-06)"),
      for: expect.stringContaining("flashinfer_cutlass or marlin"),
      upTo: "0.26.1",
    },
  ]);
});

it.each(["settings.loadFormat", "share.alone", "weights.diskGB", "notes"])(
  "a recipe without such a setting has no report against %s",
  (of) => {
    const given = read("models/openai--gpt-oss-20b/recipe.yaml");
    const report = { of, what: "it failed", source: "somebody", date: "2026-11-22" };
    expect(sourceIssues({ ...given, against: [report] })).toEqual([
      {
        path: ["against", 0, "of"],
        message: `There is no setting \`${of}\` above to report against.`,
      },
    ]);
  },
);

describe("a plan", () => {
  const warned = (server: Record<string, unknown>, disputed: readonly Disputed[]) => {
    const models = { "org/model": { source: "models/org--model/config.json", disputed } };
    return plan(stack({}, server), { home: "/home/me", models })
      .warnings.filter(({ code }) => code === "setting-disputed")
      .map(({ message }) => message);
  };
  const MARLIN = { setting: "moeBackend", value: "marlin", against: "it died (A)", for: "B" };
  const DRAFTS = { setting: "speculative", value: { method: "mtp" }, against: "C", for: "D" };

  it("warns with both sources where a server has such a setting", () => {
    expect(warned({ moeBackend: "marlin" }, [MARLIN])).toEqual([
      "b: `moeBackend: marlin` is disputed. Against it: it died (A). For it: B.",
    ]);
    const speculative = { method: "mtp", numSpeculativeTokens: 5 };
    expect(warned({ speculative }, [DRAFTS])).toEqual([
      "b: `speculative` is disputed. Against it: C. For it: D.",
    ]);
  });

  it("says nothing of another value, of none, and of a vLLM behind the report's", () => {
    expect(warned({ moeBackend: "triton" }, [MARLIN, DRAFTS])).toEqual([]);
    expect(warned({ speculative: { method: "ngram", numSpeculativeTokens: 5 } }, [DRAFTS])).toEqual(
      [],
    );
    expect(warned({ moeBackend: "marlin" }, [{ ...MARLIN, upTo: "0.29.0" }])).toEqual([]);
    expect(warned({ moeBackend: "marlin" }, [{ ...MARLIN, upTo: "0.30.0" }])).toHaveLength(1);
  });

  it("knows them of a model of the catalogue", () => {
    const settings = stack({}, { model: { id: ID } });
    expect(readModels(settings, process.cwd())[ID]?.disputed).toHaveLength(2);
  });
});
