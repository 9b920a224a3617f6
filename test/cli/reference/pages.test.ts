import { objectOr } from "@local-serving/base/faults/json";
import { parseJson } from "@local-serving/base/faults/jsonDocument";
import { valueAt } from "@local-serving/base/faults/schemaFaults";
import { configureAnalytics } from "@local-serving/harness/analytics/configuration";
import { automationSchema } from "@local-serving/harness/automation/schema";
import { checkProfile } from "@local-serving/harness/providers/check";
import { measuredUsd } from "@local-serving/harness/providers/cost";
import { parseProfile } from "@local-serving/harness/providers/profile";
import { reviewersFor } from "@local-serving/harness/providers/reviewers";
import { providerSchema } from "@local-serving/harness/providers/schema";
import { OURS_MARK, renderReference } from "@local-serving/harness/reference/render";
import { jsonSchemaOf, schemaKeys } from "@local-serving/harness/schema/jsonSchema";
import { describe, expect, it } from "vitest";
import { referenceDocuments } from "../../../cli/reference/documents";

const files = new Map(renderReference(referenceDocuments()).map(({ name, text }) => [name, text]));
const pageOf = (name: string) => files.get(`${name}.md`) ?? "";

/** The rows of the specification's table whose meaning is empty, `test` aside, which is refused. */
const WITHOUT_MEANING = [
  "branch",
  "build",
  "caps",
  "caps.cost_usd",
  "caps.wall_clock_sec",
  "merge",
  "notify",
  "phases",
  "profile",
  "review",
  "routing.default_task_route",
  "routing.enabled",
  "schema_version",
  "unattended",
  "unattended.budget",
  "unattended.budget.estimate_unmetered",
  "unattended.budget.meter_all_invocations",
  "unattended.on_origin_gate",
  "unattended.on_review_breaker",
  "unattended.on_stale_finding",
  "verification.app.command",
  "verification.coverage.command",
  "verification.coverage.floor_enforced_at",
  "verification.coverage.min_branch_pct",
  "verification.coverage.min_line_pct",
];

describe("the page of the automation config", () => {
  const page = pageOf("automation-config");

  it("marks the descriptions that are ours, and only those, and says what the mark means", () => {
    const ours = schemaKeys(jsonSchemaOf(automationSchema)).filter(
      ({ schema }) => schema.ours === true,
    );
    expect(ours.map(({ path }) => path.join(".")).sort()).toEqual(WITHOUT_MEANING);
    expect(page.split(OURS_MARK)).toHaveLength(WITHOUT_MEANING.length + 2);
    expect(page).toContain(
      `\n${OURS_MARK} marks a key that the specification lists without a meaning`,
    );
  });

  it("says what every key is for", () => {
    for (const { path, schema } of schemaKeys(jsonSchemaOf(automationSchema)))
      expect(schema.description?.length ?? 0, path.join(".")).toBeGreaterThan(20);
  });
});

describe("the page of the providers profile", () => {
  const page = pageOf("providers-profile");
  const examples = [...page.matchAll(/```toml\n([\s\S]*?\n)```/g)].map(([, text = ""]) =>
    parseProfile("p.toml", text),
  );

  it("has a provider that both readings take without an issue, each value but the type its key's own example", () => {
    const [example] = examples;
    expect(example && checkProfile(example).faults).toEqual([]);
    const { type, ...values } = objectOr(valueAt(example?.value, ["providers", "local"]));
    const keys = jsonSchemaOf(providerSchema).properties;
    const own = Object.keys(values).map((key) => [key, keys?.[key]?.examples?.[0]]);
    expect(values).toEqual(Object.fromEntries(own));
    expect(type).toBe("openai-compatible");
  });

  it("says who reviews and what an invocation costs", () => {
    const { pairings } = checkProfile(examples[1] ?? parseProfile("p.toml", ""));
    const reviewers = reviewersFor("codex", pairings).map((name) => `\`${name}\``);
    expect(page).toContain(
      `The work of \`codex\` goes to ${reviewers.join(", then ")}: nobody twice, and never to itself.`,
    );
    const usd = measuredUsd(
      { price_usd_per_mtok_input: 3, price_usd_per_mtok_output: 15 },
      { inputTokens: 40_000, outputTokens: 2000 },
    );
    expect(page).toContain(
      `both prices, 3 and 15 USD per million tokens, a request of 40000 tokens with an answer of 2000 costs ${usd} USD`,
    );
  });
});

describe("the page of session analytics", () => {
  it("shows which layer wins, key by key, as the layers themselves have it", () => {
    const file = {
      judge: { workers: 2, default: { backend: "ollama", model: "llama3" } },
      embedding: { workers: 8 },
    };
    const { values } = configureAnalytics({
      prefix: "HX_",
      document: parseJson("session-analytics.json", JSON.stringify(file)),
      dotenv: { file: ".env", variables: { HX_SA_EMBED_WORKERS: "4" } },
      environment: { HX_SA_JUDGE_BACKEND: "openai", HX_SA_EMBED_WORKERS: "" },
      settings: [{ key: "similarity.top_k", value: "9" }],
    });
    const page = pageOf("session-analytics");
    const rows = page.slice(page.indexOf("## Example: which layer wins")).split("\n").slice(4, 10);
    const shown = rows.map((row) => row.slice(2, -2).split(" | "));
    const made = shown.map(([key = "", said]) => {
      const { value, layer } = values.get(key.replaceAll("`", "")) ?? {};
      return [key, said, value === "" ? "empty" : `\`${String(value)}\``, layer];
    });
    expect(shown).toEqual(made);
    expect(shown.map(([, , , layer]) => layer)).toEqual([
      "file",
      "dotenv",
      "env",
      "env",
      "cli",
      "default",
    ]);
  });
});
