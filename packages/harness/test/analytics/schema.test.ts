import { describe, expect, it } from "vitest";
import { analyticsKeys, findKey } from "../../analytics/keys";
import { defaultLayer } from "../../analytics/layers";
import { analyticsSchema } from "../../analytics/schema";
import { jsonSchemaOf, schemaKeys } from "../../schema/jsonSchema";

/**
 * The specification's table "Session-analytics config": key, default, variable; and its list of
 * direct variables.
 */
const TABLE: [string, unknown, string | undefined][] = [
  ["dsn", "", "SA_DSN"],
  ["embedding.backend", "ollama", "SA_EMBED_BACKEND"],
  ["embedding.input_cap_chars", 8000, undefined],
  ["embedding.model", "", "SA_EMBED_MODEL"],
  ["embedding.ollama_url", "http://localhost:11434", undefined],
  ["embedding.workers", 1, "SA_EMBED_WORKERS"],
  ["judge.api_key", "", "SA_JUDGE_API_KEY"],
  ["judge.base_url", "", "SA_JUDGE_BASE_URL"],
  ["judge.by_copilot.aider.backend", "ollama", undefined],
  ["judge.by_copilot.aider.model", "", undefined],
  ["judge.by_copilot.claude-code.backend", "ollama", undefined],
  ["judge.by_copilot.claude-code.model", "", undefined],
  ["judge.default.backend", "ollama", "SA_JUDGE_BACKEND"],
  ["judge.default.model", "", "SA_JUDGE_MODEL"],
  ["judge.ollama_url", "http://localhost:11434", undefined],
  ["judge.workers", 2, "SA_JUDGE_WORKERS"],
  ["kuzu_path", "", "SA_KUZU_PATH"],
  ["benchmark_runs_root", "", "SA_BENCHMARK_RUNS_ROOT"],
  ["project_ids", [], undefined],
  ["redaction_mode", "code", "SA_REDACTION"],
  ["routing_calibration.distance_metric", "l2_v1", "SA_CALIBRATION_DISTANCE_METRIC"],
  ["routing_calibration.k", 5, "SA_CALIBRATION_K"],
  ["routing_calibration.k_min", 3, "SA_CALIBRATION_K_MIN"],
  ["routing_calibration.max_false_downgrade_rate", 0.05, "SA_CALIBRATION_MAX_FALSE_DOWNGRADE_RATE"],
  ["routing_calibration.min_coverage", 0.8, "SA_CALIBRATION_MIN_COVERAGE"],
  ["routing_calibration.min_sets", 3, "SA_CALIBRATION_MIN_SETS"],
  ["routing_calibration.min_sufficiency", 0.95, "SA_CALIBRATION_MIN_SUFFICIENCY"],
  ["routing_calibration.min_tasks", 10, "SA_CALIBRATION_MIN_TASKS"],
  ["routing_calibration.min_trials", 3, "SA_CALIBRATION_MIN_TRIALS"],
  ["routing_calibration.policy_source", "", "SA_CALIBRATION_POLICY_SOURCE"],
  ["routing_calibration.repo_policy_source", "", "SA_CALIBRATION_REPO_POLICY_SOURCE"],
  ["routing_calibration.root", "", "SA_CALIBRATION_ROOT"],
  ["routing_calibration.tier_floor", "tier1", "SA_CALIBRATION_TIER_FLOOR"],
  ["routing_calibration.vote_epsilon", 1e-6, "SA_CALIBRATION_VOTE_EPSILON"],
  ["routing_evidence_roots", [], "SA_ROUTING_EVIDENCE_ROOTS"],
  ["sessions.noise.min_turns", 3, "SA_NOISE_MIN_TURNS"],
  ["sessions.noise.min_duration_seconds", 60, "SA_NOISE_MIN_DURATION_SECONDS"],
  [
    "sessions.noise.path_patterns",
    ["/cct-probe", "/private/var/folders/", "/tmp/"],
    "SA_NOISE_PATH_PATTERNS",
  ],
  ["auto_build.ledger_root", ".cct", undefined],
  ["auto_build.active_window_seconds", 900, undefined],
  ["similarity.threshold", 0.55, "SA_SIMILARITY_THRESHOLD"],
  ["similarity.top_k", 5, "SA_SIMILARITY_TOP_K"],
  ["sources.aider", "~", "SA_SOURCE_AIDER"],
  ["sources.claude-code", "~/.claude/projects", "SA_SOURCE_CLAUDE_CODE"],
  ["team.active_window_seconds", 300, "SA_TEAM_ACTIVE_WINDOW"],
  ["team.budgets.team_daily_usd", "", "SA_BUDGET_TEAM_DAILY_USD"],
  ["team.budgets.team_monthly_usd", "", "SA_BUDGET_TEAM_MONTHLY_USD"],
  ["team.budgets.developer_daily_usd", "", "SA_BUDGET_DEVELOPER_DAILY_USD"],
  ["team.budgets.project_daily_usd", "", "SA_BUDGET_PROJECT_DAILY_USD"],
  ["team.runaway.recent_minutes", 60, "SA_RUNAWAY_RECENT_MINUTES"],
  ["team.runaway.max_turns_recent", 300, "SA_RUNAWAY_MAX_TURNS_RECENT"],
  ["team.runaway.recent_turns", 50, "SA_RUNAWAY_RECENT_TURNS"],
  ["team.runaway.max_error_share", 0.5, "SA_RUNAWAY_MAX_ERROR_SHARE"],
  ["team.runaway.min_turns_for_error_share", 20, "SA_RUNAWAY_MIN_TURNS_FOR_ERROR_SHARE"],
  ["team.runaway.max_cost_recent_usd", 20, "SA_RUNAWAY_MAX_COST_RECENT_USD"],
];

/** The specification's table of default prices, by tier. */
const PRICES: [string, Record<string, number>][] = [
  ["claude-haiku-4-8", { cache_read: 0.08, cache_write: 1.0, input: 0.8, output: 4.0 }],
  ["claude-sonnet-4-8", { cache_read: 0.3, cache_write: 3.75, input: 3.0, output: 15.0 }],
  ["claude-opus-4-8", { cache_read: 1.5, cache_write: 18.75, input: 15.0, output: 75.0 }],
];

describe("the session-analytics table", () => {
  it.each(TABLE)("%s is %j by default", (name, value, variable) => {
    expect(defaultLayer().get(name)).toEqual(value);
    expect(findKey(name)?.variable).toBe(variable);
  });

  it.each(PRICES)("prices %s as the table does, in USD from 2026-05-01", (id, rates) => {
    const prices = { ...rates, currency: "USD", effective_date: "2026-05-01" };
    for (const [field, value] of Object.entries(prices))
      expect(defaultLayer().get(`pricing.models.${id}.${field}`)).toBe(value);
  });

  it("has no key beyond the table", () => {
    const prices = PRICES.flatMap(([id, rates]) =>
      [...Object.keys(rates), "currency", "effective_date"].map(
        (field) => `pricing.models.${id}.${field}`,
      ),
    );
    expect([...defaultLayer().keys()].sort()).toEqual(
      [...TABLE.map(([name]) => name), ...prices].sort(),
    );
  });

  it("describes every key in words of its own", () => {
    const bare = schemaKeys(jsonSchemaOf(analyticsSchema())).filter(
      ({ schema }) => (schema.description ?? "").length < 20,
    );
    expect(bare).toEqual([]);
  });

  it("has one secret", () => {
    expect(
      analyticsKeys()
        .filter(({ secret }) => secret)
        .map(({ pattern }) => pattern.join(".")),
    ).toEqual(["judge.api_key"]);
  });
});

describe("a key by its dotted name", () => {
  it.each([
    ["pricing.models.gpt-4.1.input", ["pricing", "models", "gpt-4.1", "input"]],
    ["judge.by_copilot.a.b.model", ["judge", "by_copilot", "a.b", "model"]],
    ["sources.a.b", ["sources", "a.b"]],
    ["embedding.workers", ["embedding", "workers"]],
  ])("%s is found", (name, path) => {
    expect(findKey(name)?.path).toEqual(path);
  });

  it.each([
    "",
    "embedding",
    "embedding.worker",
    "sources.",
    "sources",
    "pricing.models.input",
    "pricing.models..input",
    "judge.default",
    "__proto__",
    "sources.__proto__",
    "constructor",
    "$schema",
    "_comment",
    "project_ids[].id",
  ])("%j is none", (name) => {
    expect(findKey(name)).toBeUndefined();
  });
});
