import { join } from "node:path";
import { UnreadableInput } from "@local-serving/base/faults/fault";
import { parseJson, readJsonFile } from "@local-serving/base/faults/jsonDocument";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkAnalyticsFile } from "../../analytics/configuration";
import { defaultLayer, flatten } from "../../analytics/layers";
import { analyticsSchema } from "../../analytics/schema";
import { template } from "../../templates/template";

const fixture = (name: string) =>
  checkAnalyticsFile(readJsonFile(join(__dirname, "fixtures", name)), "HX_");
const check = (document: unknown) =>
  checkAnalyticsFile(parseJson("a.json", JSON.stringify(document)), "HX_");
const found = (document: unknown) =>
  check(document).map(({ path, code, severity }) => [path, code, severity]);

describe("check of a session-analytics file", () => {
  it("finds nothing in a good one", () => {
    expect(fixture("good.json")).toEqual([]);
  });

  it("finds every fault in one run, each at its place, and shows no secret", () => {
    const faults = fixture("wrong.json");
    expect(
      faults.map(({ line, column, path, code, severity }) => [line, column, path, code, severity]),
    ).toEqual([
      [2, 10, "dsn", "secret_in_file", "error"],
      [4, 16, "embedding.workers", "wrong_type", "error"],
      [5, 19, "embedding.ollama_url", "wrong_form", "error"],
      [8, 16, "judge.api_key", "secret_in_file", "error"],
      [9, 16, "judge.workers", "wrong_type", "error"],
      [10, 5, "judge.workerz", "unknown_key", "warning"],
      [12, 32, "similarity.threshold", "out_of_range", "error"],
      [13, 45, "sessions.noise.path_patterns", "wrong_type", "error"],
      [16, 12, "pricing.models.m", "incomplete_price", "warning"],
      [16, 23, "pricing.models.m.input", "out_of_range", "error"],
      [16, 45, "pricing.models.m.effective_date", "wrong_form", "error"],
      [16, 71, "pricing.models.m.currency", "wrong_form", "error"],
    ]);
    expect(JSON.stringify(faults)).not.toContain("SECRET");
    expect(faults.find(({ path }) => path === "judge.api_key")?.message).toBe(
      "This value (not shown) may not be in a file. A secret is set in the environment only, by the variable " +
        "HX_SA_JUDGE_API_KEY.",
    );
  });

  it.each([
    ["an empty document", {}],
    ["an empty key of the judge", { judge: { api_key: "" } }],
    ["empty text", { redaction_mode: "", judge: { base_url: "" } }],
    ["an address without a password", { dsn: "postgresql://app@db/sessions" }],
    [
      "a model that is priced in full",
      { pricing: { models: { m: { input: 0, output: 0, cache_read: 0, cache_write: 0 } } } },
    ],
    [
      "a part of a default model's prices",
      { pricing: { models: { "claude-opus-4-8": { input: 20 } } } },
    ],
    [
      "projects by plain text or by record",
      { project_ids: ["a", { match: "/x", id: "y", more: 1 }] },
    ],
    [
      "a leap day",
      { pricing: { models: { "claude-opus-4-8": { effective_date: "2028-02-29" } } } },
    ],
    ["a template", JSON.parse(template("analytics"))],
    ["the defaults themselves", analyticsSchema().parse({})],
  ])("takes %s", (_, document) => {
    expect(found(document)).toEqual([]);
  });

  it("has templates that hold nothing but defaults", () => {
    const values = [...flatten(JSON.parse(template("analytics")))];
    expect(values.length).toBeGreaterThan(5);
    for (const [name, value] of values) expect(value, name).toEqual(defaultLayer().get(name));
    expect(template("analytics", "CCT_")).toContain("the variable CCT_SA_JUDGE_API_KEY");
  });

  it.each([
    ["an unknown key", { colour: 1 }, ["colour", "unknown_key", "warning"]],
    ["text for a number", { judge: { workers: "2" } }, ["judge.workers", "wrong_type", "error"]],
    ["a number for text", { kuzu_path: 1 }, ["kuzu_path", "wrong_type", "error"]],
    [
      "text for a list",
      { routing_evidence_roots: "/a" },
      ["routing_evidence_roots", "wrong_type", "error"],
    ],
    [
      "a text for a budget",
      { team: { budgets: { team_daily_usd: "50" } } },
      ["team.budgets.team_daily_usd", "wrong_type", "error"],
    ],
    [
      "a budget below zero",
      { team: { budgets: { team_daily_usd: -1 } } },
      ["team.budgets.team_daily_usd", "out_of_range", "error"],
    ],
    ["no judge at once", { judge: { workers: 0 } }, ["judge.workers", "out_of_range", "error"]],
    [
      "a day that never was",
      { pricing: { models: { "claude-opus-4-8": { effective_date: "2027-02-29" } } } },
      ["pricing.models.claude-opus-4-8.effective_date", "wrong_form", "error"],
    ],
    [
      "a date with a time",
      { pricing: { models: { "claude-opus-4-8": { effective_date: "2027-02-01T00:00" } } } },
      ["pricing.models.claude-opus-4-8.effective_date", "wrong_form", "error"],
    ],
    [
      "a rate below zero",
      { pricing: { models: { "claude-opus-4-8": { output: -0.1 } } } },
      ["pricing.models.claude-opus-4-8.output", "out_of_range", "error"],
    ],
    [
      "a key of digits only",
      { judge: { api_key: 12345678 } },
      ["judge.api_key", "secret_in_file", "error"],
    ],
    [
      "a password in an address",
      { judge: { base_url: "http://u:p@h/v1" } },
      ["judge.base_url", "secret_in_file", "error"],
    ],
    [
      "a password in a connection string",
      { dsn: "host=h user=u password=12345678" },
      ["dsn", "secret_in_file", "error"],
    ],
    ["a key in another place", { api_key: "12345678" }, ["api_key", "secret_in_file", "error"]],
    [
      "a key in a block that has none",
      { judge: { default: { apiKey: "12345678" } } },
      ["judge.default.apiKey", "secret_in_file", "error"],
    ],
    ["digits in the place of text", { dsn: 12345678 }, ["dsn", "wrong_type", "error"]],
    ["a block that is text", { judge: "x" }, ["judge", "wrong_type", "error"]],
    ["a document that is a list", [], ["", "wrong_type", "error"]],
  ])("points out %s", (_, document, expected) => {
    expect(found(document)).toEqual([expected]);
    expect(JSON.stringify(check(document))).not.toContain("12345678");
  });

  it("points out only the block that is given twice, not each key in it", () => {
    const document = parseJson("a.json", '{"judge":{"workers":1},"judge":{"workers":2}}');
    expect(
      checkAnalyticsFile(document, "HX_").map(({ path, code, column }) => [path, code, column]),
    ).toEqual([["judge", "duplicate_key", 24]]);
  });

  it.each([
    ["nothing", " \n", "the file is empty"],
    ["no JSON", '{"a": }', "1:7"],
    ["JSON that ends early", '{"a": 1', "not valid JSON"],
    ["10,000 levels", "[".repeat(10_000) + "]".repeat(10_000), "100 levels"],
    [
      "10,000 levels of a known key",
      `${'{"judge":'.repeat(10_000)}1${"}".repeat(10_000)}`,
      "100 levels",
    ],
  ])("can't read %s", (_, text, expected) => {
    expect(() => parseJson("a.json", text)).toThrow(UnreadableInput);
    expect(() => parseJson("a.json", text)).toThrow(expected);
  });

  it("quotes nothing of a file that it can't read", () => {
    for (const text of ['{"judge":{"api_key":"sk-SECRET}}', "sk-SECRET", '{"a":"SECRET",}'])
      expect(() => parseJson("a.json", text)).toThrow(/^(?!.*SECRET)/s);
  });

  it("never crashes, whatever the document holds, and shows no secret", () => {
    const key = fc.constantFrom(
      "judge",
      "api_key",
      "dsn",
      "pricing",
      "models",
      "sources",
      "__proto__",
      "constructor",
      "toString",
      "team",
      "budgets",
      "project_ids",
      "x",
    );
    const { document } = fc.letrec((tie) => ({
      leaf: fc.oneof(
        fc.constant("sk-SECRET"),
        fc.constant(""),
        fc.double(),
        fc.boolean(),
        fc.constant(null),
      ),
      document: fc.oneof(
        { maxDepth: 5 },
        tie("leaf"),
        fc.dictionary(key, tie("document")),
        fc.array(tie("document"), { maxLength: 3 }),
      ),
    }));
    fc.assert(
      fc.property(document, (value) => {
        expect(JSON.stringify(check(value ?? {}))).not.toContain("SECRET");
      }),
      { numRuns: 500 },
    );
  });
});
