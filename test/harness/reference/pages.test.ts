import { describe, expect, it } from "vitest";
import { analyticsReference } from "../../../harness/analytics/reference";
import { automationReference } from "../../../harness/automation/reference";
import { automationSchema } from "../../../harness/automation/schema";
import { checkProfile } from "../../../harness/providers/check";
import { parseProfile } from "../../../harness/providers/profile";
import { exampleProvider, providersReference } from "../../../harness/providers/reference";
import { OURS_MARK, renderMarkdown } from "../../../harness/reference/render";
import { jsonSchemaOf, schemaKeys } from "../../../harness/schema/jsonSchema";

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
  const page = renderMarkdown(automationReference());

  it("marks the descriptions that are ours, and only those, and says what the mark means", () => {
    const ours = schemaKeys(jsonSchemaOf(automationSchema)).filter(({ schema }) => schema.ours === true);
    expect(ours.map(({ path }) => path.join(".")).sort()).toEqual(WITHOUT_MEANING);
    expect(page.split(OURS_MARK)).toHaveLength(WITHOUT_MEANING.length + 2);
    expect(page).toContain(`\n${OURS_MARK} marks a key that the specification lists without a meaning`);
  });

  it("says what every key is for", () => {
    for (const { path, schema } of schemaKeys(jsonSchemaOf(automationSchema)))
      expect(schema.description?.length ?? 0, path.join(".")).toBeGreaterThan(20);
  });
});

describe("the page of the providers profile", () => {
  const page = renderMarkdown(providersReference());

  it("has an example that both readings take without an issue", () => {
    expect(page).toContain(`\`\`\`toml\n${exampleProvider()}\n\`\`\``);
    expect(checkProfile(parseProfile("p.toml", `${exampleProvider()}\n`)).faults).toEqual([]);
  });

  it("says who reviews and what an invocation costs", () => {
    expect(page).toContain("The work of `codex` goes to `local`, then `ollama`: nobody twice, and never to itself.");
    expect(page).toContain("a request of 40000 tokens with an answer of 2000 costs 0.15 USD");
  });
});

describe("the page of session analytics", () => {
  it("shows which layer wins, key by key", () => {
    const page = renderMarkdown(analyticsReference());
    const rows = page.slice(page.indexOf("## Example: which layer wins")).split("\n").slice(4, 10);
    expect(rows.map((row) => row.split(" | ").slice(-2).join(" | "))).toEqual([
      "`2` | file |",
      "`4` | dotenv |",
      "`openai` | env |",
      "empty | env |",
      "`9` | cli |",
      "`0.55` | default |",
    ]);
  });
});
