import { parseJson } from "@local-serving/base/faults/jsonDocument";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkAnalyticsFile, renderDocument, setKey } from "../../analytics/configuration";
import { analyticsKeys, concrete } from "../../analytics/keys";
import { flatten } from "../../analytics/layers";

const set = (document: Record<string, unknown>, name: string, text: string) =>
  setKey(document, name, text, "HX_");

describe("setting one key", () => {
  it.each([
    ["a number", "embedding.workers", "4", { embedding: { workers: 4 } }],
    ["text, although it looks like a number", "kuzu_path", "1", { kuzu_path: "1" }],
    [
      "a list with commas",
      "routing_evidence_roots",
      "/a, /b",
      { routing_evidence_roots: ["/a", "/b"] },
    ],
    ["an empty list", "routing_evidence_roots", "[]", { routing_evidence_roots: [] }],
    [
      "a key without a variable",
      "auto_build.ledger_root",
      ".hx",
      { auto_build: { ledger_root: ".hx" } },
    ],
    [
      "a model with a dot in its id",
      "pricing.models.gpt-4.1.input",
      "2",
      { pricing: { models: { "gpt-4.1": { input: 2 } } } },
    ],
    ["no budget", "team.budgets.team_daily_usd", "", { team: { budgets: { team_daily_usd: "" } } }],
    [
      "records as JSON",
      "project_ids",
      '[{"match":"/a","id":"b"}]',
      { project_ids: [{ match: "/a", id: "b" }] },
    ],
    ["an empty key of the judge", "judge.api_key", "", { judge: { api_key: "" } }],
  ])("writes %s", (_, name, text, document) => {
    expect(set({}, name, text)).toEqual({ document });
  });

  it("leaves the other keys as they are, in their order, and does not touch what it was given", () => {
    const before = { z: 1, judge: { workers: 1, model: "x" }, a: 2 };
    const result = set(before, "judge.workers", "9");
    expect("document" in result && JSON.stringify(result.document)).toBe(
      '{"z":1,"judge":{"workers":9,"model":"x"},"a":2}',
    );
    expect(before.judge.workers).toBe(1);
  });

  it.each([
    ["an unknown key", "embeding.workers", "1", "unknown_key"],
    ["a block", "embedding", "{}", "unknown_key"],
    ["text for a number", "embedding.workers", "many", "wrong_value"],
    ["a number out of range", "similarity.threshold", "2", "wrong_value"],
    ["no date", "pricing.models.m.effective_date", "2026-02-30", "wrong_value"],
    ["a secret", "judge.api_key", "sk-SECRET", "secret"],
    ["an address with a password", "dsn", "postgres://u:SECRET@h/d", "secret"],
    ["the prototype", "sources.__proto__", "/x", "unknown_key"],
  ])("refuses %s", (_, name, text, code) => {
    const result = set({}, name, text);
    expect("fault" in result && result.fault.code).toBe(code);
    expect(JSON.stringify(result)).not.toContain("SECRET");
  });

  it("refuses to set a key in what is not a block", () => {
    const result = set({ judge: "x" }, "judge.workers", "1");
    expect("fault" in result && result.fault.message).toContain("`judge` is not a map");
  });

  it("writes what the check then takes and what the layers then give, for every key", () => {
    const texts = fc.oneof(
      fc.string(),
      fc.double({ noNaN: true, min: 0, max: 1 }).map(String),
      fc.nat(50).map(String),
      fc.constant("2026-05-02"),
    );
    fc.assert(
      fc.property(fc.constantFrom(...analyticsKeys()), texts, (pattern, text) => {
        const key = concrete(pattern, "some-id");
        const result = set({}, key.name, text);
        if ("fault" in result) return;
        const document = parseJson("a.json", renderDocument(result.document));
        expect(
          checkAnalyticsFile(document, "HX_").filter(({ severity }) => severity === "error"),
        ).toEqual([]);
        expect([...flatten(document.value).keys()]).toEqual([key.name]);
      }),
      { numRuns: 400 },
    );
  });
});
