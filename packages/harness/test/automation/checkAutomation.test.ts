import { describe, expect, test } from "vitest";
import { change, checkConfig, checkYaml, codes, wholeConfig } from "./scene";

test("the whole config is valid, and its resolved form has every default", () => {
  const { valid, issues, resolved } = checkConfig(wholeConfig());
  expect(issues).toEqual([]);
  expect(valid).toBe(true);
  expect(resolved?.review).toEqual({ max_rounds: 5, loop_timeout_sec: 900 });
  expect(resolved?.verification.visual?.skip_is_failure).toBe(true);
  expect(resolved?.verification.app?.address).toBe("http://127.0.0.1:3000/healthz");
  expect(resolved?.verification.coverage).toMatchObject({
    floor_enforced_at: "landing",
    timeout_sec: 1200,
    preset_sha256: null,
  });
  expect(resolved?.branch).toEqual({ name: "feature/x" });
});

test("{} is valid: no key at the top is marked required", () => {
  expect(checkConfig({})).toMatchObject({ valid: true, issues: [] });
});

/**
 * Row of the specification's table, path that is changed, new value (`undefined` removes), faults
 * that must come.
 */
type Case = readonly [row: string, path: string, value: unknown, expected: readonly string[]];

const MISSING: readonly Case[] = [
  "verification.conformance.evaluator",
  "verification.conformance.timeout_sec",
  "verification.coverage.command",
  "verification.coverage.artifact",
  "verification.coverage.parser",
  "verification.coverage.baseline",
  "verification.app.command",
  "verification.app.stop_timeout_sec",
  "verification.app.ready",
  "verification.visual.command",
  "verification.visual.artifact",
  "verification.visual.url",
  "verification.visual.timeout_sec",
  "verification.app.ready.timeout_sec",
].map((path) => [`${path}: Req yes`, path, undefined, [`${path} missing_key`]]);

const OPTIONAL: readonly Case[] = [
  "schema_version",
  "profile",
  "branch",
  "phases",
  "build",
  "verification",
  "verification.conformance",
  "verification.coverage",
  "verification.visual",
  "review",
  "caps",
  "caps.wall_clock_sec",
  "caps.cost_usd",
  "notify",
  "merge",
  "routing",
  "routing.enabled",
  "routing.allowed_profiles",
  "routing.default_task_route",
  "unattended",
  "unattended.on_review_breaker",
  "unattended.budget",
  "unattended.budget.estimate_usd_per_invocation",
].map((path) => [`${path}: Req -`, path, undefined, []]);

const CLOSED: readonly Case[] = [
  "extra",
  "verification.extra",
  "verification.test",
  "verification.conformance.extra",
  "verification.coverage.extra",
  "verification.app.extra",
  "verification.app.ready.extra",
  "verification.visual.extra",
  "review.extra",
  "caps.extra",
  "routing.extra",
  "routing.tier2.extra",
  "routing.recovery.extra",
  "unattended.extra",
  "unattended.budget.extra",
].map((path) => [`the schema is closed: ${path}`, path, 1, [`${path} unknown_key`]]);

const FREE: readonly Case[] = ["branch", "phases", "build", "notify", "merge"].flatMap(
  (block): Case[] => [
    [`${block}: inner keys not shown`, `${block}.anything`, { at: "all" }, []],
    [`${block}: object`, block, "text", [`${block} wrong_type`]],
    [`${block}: object`, block, ["list"], [`${block} wrong_type`]],
  ],
);

const TYPES: readonly Case[] = [
  ["schema_version: 1 or 2", "schema_version", 1, []],
  ["schema_version: 1 or 2", "schema_version", 3, ["schema_version unknown_value"]],
  ["schema_version: 1 or 2", "schema_version", "2", ["schema_version unknown_value"]],
  ...["advisory", "pr", "merge", "unattended"].map(
    (profile): Case => ["profile", "profile", profile, []],
  ),
  ["profile", "profile", "none", ["profile unknown_value"]],
  ["coverage.parser: istanbul, lcov", "verification.coverage.parser", "lcov", []],
  [
    "coverage.parser: others",
    "verification.coverage.parser",
    "clover",
    ["verification.coverage.parser unknown_value"],
  ],
  [
    "coverage.parser: cobertura is refused",
    "verification.coverage.parser",
    "cobertura",
    ["verification.coverage.parser not_implemented"],
  ],
  [
    "coverage.parser: jacoco is refused",
    "verification.coverage.parser",
    "jacoco",
    ["verification.coverage.parser not_implemented"],
  ],
  [
    "coverage.baseline: none, admission",
    "verification.coverage.baseline",
    "base",
    ["verification.coverage.baseline unknown_value"],
  ],
  ["coverage.min_line_pct: number", "verification.coverage.min_line_pct", 79.5, []],
  [
    "coverage.min_line_pct: 0 to 100",
    "verification.coverage.min_line_pct",
    100.1,
    ["verification.coverage.min_line_pct out_of_range"],
  ],
  [
    "coverage.min_line_pct: 0 to 100",
    "verification.coverage.min_line_pct",
    -1,
    ["verification.coverage.min_line_pct out_of_range"],
  ],
  [
    "coverage.min_branch_pct: number",
    "verification.coverage.min_branch_pct",
    "70",
    ["verification.coverage.min_branch_pct wrong_type"],
  ],
  [
    "coverage.floor_enforced_at: landing, phase",
    "verification.coverage.floor_enforced_at",
    "phase",
    [],
  ],
  [
    "coverage.floor_enforced_at: landing, phase",
    "verification.coverage.floor_enforced_at",
    "end",
    ["verification.coverage.floor_enforced_at unknown_value"],
  ],
  ["coverage.timeout_sec: number, fractions allowed", "verification.coverage.timeout_sec", 0.5, []],
  [
    "coverage.timeout_sec: bounds the command",
    "verification.coverage.timeout_sec",
    0,
    ["verification.coverage.timeout_sec out_of_range"],
  ],
  [
    "visual.skip_is_failure: boolean",
    "verification.visual.skip_is_failure",
    "no",
    ["verification.visual.skip_is_failure wrong_type"],
  ],
  ["visual.skip_is_failure: boolean", "verification.visual.skip_is_failure", false, []],
  ["review.max_rounds: integer", "review.max_rounds", 1.5, ["review.max_rounds wrong_type"]],
  ["review.max_rounds: at least 1", "review.max_rounds", 0, ["review.max_rounds out_of_range"]],
  [
    "review.loop_timeout_sec: integer",
    "review.loop_timeout_sec",
    "900",
    ["review.loop_timeout_sec wrong_type"],
  ],
  ["caps.wall_clock_sec: number", "caps.wall_clock_sec", 0.5, []],
  ["caps.cost_usd: number", "caps.cost_usd", "25", ["caps.cost_usd wrong_type"]],
  ["caps.cost_usd: no negative cap", "caps.cost_usd", -1, ["caps.cost_usd out_of_range"]],
  [
    "routing.allowed_profiles: array of string",
    "routing.allowed_profiles",
    [1],
    ["routing.allowed_profiles.0 wrong_type"],
  ],
  ["routing.tier2.delegation_enabled: boolean", "routing.tier2.delegation_enabled", false, []],
  [
    "routing.recovery.wake_enabled: boolean",
    "routing.recovery.wake_enabled",
    0,
    ["routing.recovery.wake_enabled wrong_type"],
  ],
  [
    "routing.recovery.auto_failback_enabled: boolean",
    "routing.recovery.auto_failback_enabled",
    true,
    [],
  ],
  ["unattended.on_stale_finding: terminate", "unattended.on_stale_finding", "terminate", []],
  [
    "unattended.on_review_breaker: terminate",
    "unattended.on_review_breaker",
    "park",
    ["unattended.on_review_breaker unknown_value"],
  ],
  [
    "unattended.on_stale_finding: terminate",
    "unattended.on_stale_finding",
    "adjudicate",
    ["unattended.on_stale_finding unknown_value"],
  ],
  [
    "unattended.on_origin_gate: terminate",
    "unattended.on_origin_gate",
    "retry",
    ["unattended.on_origin_gate unknown_value"],
  ],
  [
    "unattended.budget.meter_all_invocations: boolean",
    "unattended.budget.meter_all_invocations",
    "yes",
    ["unattended.budget.meter_all_invocations wrong_type"],
  ],
  [
    "unattended.budget.estimate_unmetered: boolean",
    "unattended.budget.estimate_unmetered",
    true,
    [],
  ],
  [
    "unattended.budget.estimate_usd_per_invocation: number",
    "unattended.budget.estimate_usd_per_invocation",
    "2",
    ["unattended.budget.estimate_usd_per_invocation wrong_type"],
  ],
];

const WHOLE_SECONDS: readonly Case[] = [
  "verification.conformance.timeout_sec",
  "verification.app.stop_timeout_sec",
  "verification.app.ready.timeout_sec",
  "verification.visual.timeout_sec",
].flatMap((path): Case[] => [
  [`${path}: whole seconds`, path, 1, []],
  [`${path}: whole seconds`, path, 1.5, [`${path} wrong_type`]],
  [`${path}: whole seconds`, path, "60", [`${path} wrong_type`]],
  [`${path}: at least 1`, path, 0, [`${path} out_of_range`]],
  [`${path}: at least 1`, path, -5, [`${path} out_of_range`]],
]);

const COMMANDS: readonly Case[] = [
  "verification.coverage.command",
  "verification.app.command",
  "verification.visual.command",
].map((path) => [`${path}: no shell takes a NUL`, path, "npm\0run", [`${path} wrong_form`]]);

const REFUSED: readonly Case[] = [
  ["test: rejected by name", "test", { command: "npm test" }, ["test refused_key"]],
  [
    "conformance.required: rejected by name",
    "verification.conformance.required",
    true,
    ["verification.conformance.required refused_key"],
  ],
  [
    "conformance.app: rejected by name",
    "verification.conformance.app",
    {},
    ["verification.conformance.app refused_key"],
  ],
  [
    "visual.required_when_ui_in_scope: rejected by name",
    "verification.visual.required_when_ui_in_scope",
    true,
    ["verification.visual.required_when_ui_in_scope refused_key"],
  ],
  ...[
    "profiles",
    "default_profile",
    "credential",
    "api_key",
    "token",
    "endpoint",
    "base_url",
    "baseUrl",
    "protocol",
    "wire_api",
    "capability",
    "capability_tier",
    "model",
    "provider",
  ].map(
    (key): Case => [
      "routing: no field can define a profile, credential, endpoint, protocol or capability",
      `routing.${key}`,
      "x",
      [`routing.${key} refused_key`],
    ],
  ),
  [
    "routing.tier2: restriction only",
    "routing.tier2.base_url",
    "x",
    ["routing.tier2.base_url refused_key"],
  ],
  [
    "routing.recovery: probe cadence is registry policy",
    "routing.recovery.probe_cadence_sec",
    5,
    ["routing.recovery.probe_cadence_sec refused_key"],
  ],
  [
    "routing.recovery: health thresholds are registry policy",
    "routing.recovery.health_threshold",
    2,
    ["routing.recovery.health_threshold refused_key"],
  ],
  [
    "routing: a slip of the pen is no refusal",
    "routing.allowed_profile",
    [],
    ["routing.allowed_profile unknown_key"],
  ],
];

const PATHS: readonly Case[] = [
  "verification.coverage.artifact",
  "verification.visual.artifact",
].flatMap((path): Case[] => [
  [`${path}: relative`, path, "/abs.json", [`${path} not_contained`]],
  [`${path}: inside`, path, "../out.json", [`${path} not_contained`]],
  [`${path}: inside`, path, "a/../../out.json", [`${path} not_contained`]],
  [`${path}: .. may not lead out, but may be used inside`, path, "a/../out.json", []],
  [`${path}: .. inside a file's name`, path, "v1..v2/..out.json", []],
  [`${path}: a file, not the project itself`, path, ".", [`${path} not_contained`]],
  [`${path}: a file, not a directory`, path, "coverage/", [`${path} not_contained`]],
  [`${path}: never git's own files`, path, ".git/index", [`${path} not_contained`]],
  [`${path}: not empty`, path, "", [`${path} out_of_range`]],
]);

const APP: readonly Case[] = [
  [
    "app.ready: exactly one of url or command",
    "verification.app.ready.command",
    "true",
    ["verification.app.ready both_proofs"],
  ],
  [
    "app.ready: exactly one of url or command",
    "verification.app.ready",
    { timeout_sec: 5 },
    ["verification.app.ready no_proof"],
  ],
  [
    "app: command-only readiness with no interface is rejected",
    "verification.app.ready",
    { command: "true", timeout_sec: 5 },
    ["verification.app.interface missing_key"],
  ],
  [
    "app.interface: absolute http(s) URL",
    "verification.app.interface",
    "127.0.0.1:3000",
    ["verification.app.interface wrong_form"],
  ],
  [
    "app.interface: absolute http(s) URL",
    "verification.app.interface",
    "ftp://127.0.0.1:3000",
    ["verification.app.interface wrong_form"],
  ],
  [
    "app.interface: shares the origin of ready.url",
    "verification.app.interface",
    "http://127.0.0.1:3000/api",
    [],
  ],
  [
    "app.interface: shares the origin of ready.url (port)",
    "verification.app.interface",
    "http://127.0.0.1:4000/",
    ["verification.app.interface other_origin", "verification.visual.url other_origin"],
  ],
  [
    "app.interface: shares the origin of ready.url (scheme)",
    "verification.app.interface",
    "https://127.0.0.1:3000/",
    ["verification.app.interface other_origin", "verification.visual.url other_origin"],
  ],
  [
    "app.ready.url: absolute http(s) URL",
    "verification.app.ready.url",
    "/healthz",
    ["verification.app.ready.url wrong_form"],
  ],
  [
    "visual.url: absolute http(s) URL",
    "verification.visual.url",
    "localhost:3000",
    ["verification.visual.url wrong_form"],
  ],
  [
    "visual.url: same origin as the app address",
    "verification.visual.url",
    "http://127.0.0.1:3001/",
    ["verification.visual.url other_origin"],
  ],
  [
    "origin: localhost is not 127.0.0.1",
    "verification.visual.url",
    "http://localhost:3000/",
    ["verification.visual.url other_origin"],
  ],
  [
    "secrets are never stored in a config",
    "verification.visual.url",
    "http://me:s3cret@127.0.0.1:3000/",
    ["verification.visual.url wrong_form"],
  ],
  [
    "visual and conformance require verification.app",
    "verification.app",
    undefined,
    ["verification.app missing_key"],
  ],
];

const COVERAGE: readonly Case[] = [
  [
    "coverage: a floor is needed",
    "verification.coverage.min_line_pct",
    undefined,
    ["verification.coverage missing_floor"],
  ],
  [
    "max_regression_pct: rejected when baseline is none",
    "verification.coverage.max_regression_pct",
    1,
    ["verification.coverage.max_regression_pct regression_without_baseline"],
  ],
  [
    "max_regression_pct: required when baseline is admission",
    "verification.coverage.baseline",
    "admission",
    ["verification.coverage.max_regression_pct missing_key"],
  ],
  [
    "preset: unknown fails closed",
    "verification.coverage.preset",
    "service",
    ["verification.coverage.preset unknown_preset"],
  ],
  [
    "preset: a bare name",
    "verification.coverage.preset",
    "../service",
    ["verification.coverage.preset unknown_preset"],
  ],
];

describe.each([
  ["required keys", MISSING],
  ["keys that are not required", OPTIONAL],
  ["closed at every level", CLOSED],
  ["blocks with free inner keys", FREE],
  ["types and values", TYPES],
  ["whole seconds", WHOLE_SECONDS],
  ["commands", COMMANDS],
  ["keys rejected by name", REFUSED],
  ["artifact paths", PATHS],
  ["the app and its addresses", APP],
  ["coverage", COVERAGE],
])("%s", (_, cases) => {
  test.each(cases)("%s | %s = %j", (_row, path, value, expected) => {
    const check = checkConfig(change(wholeConfig(), path, value));
    expect(codes(check)).toEqual(expected);
    expect(check.valid).toBe(expected.length === 0);
    expect(check.resolved === null).toBe(expected.length > 0);
  });
});

describe("addresses", () => {
  test.each([
    ["http://127.0.0.1/", "http://127.0.0.1:80/ui", true],
    ["https://app.test/", "https://app.test:443/ui", true],
    ["HTTP://App.Test/", "http://app.test/", true],
    ["http://[::1]:3000/", "http://[::1]:3000/x", true],
    ["https://app.test:80/", "http://app.test/", false],
    ["http://app.test/", "http://app.test.evil.test/", false],
    ["http://app.test@evil.test/", "http://evil.test/", false],
    ["http:app.test/", "http://app.test/", false],
    ["http://app.test\\.evil.test/", "http://app.test/", false],
    [" http://app.test/", "http://app.test/", false],
    ["http:///x", "http://x/", false],
    ["http://app.test:99999/", "http://app.test/", false],
    ["http://app.test:0/", "http://app.test:0/ui", false],
  ])("ready %j and visual %j: %s", (ready, visual, valid) => {
    const config = change(wholeConfig(), "verification.app.ready.url", ready);
    expect(checkConfig(change(config, "verification.visual.url", visual)).valid).toBe(valid);
  });
  test("the interface is the address, not ready.url", () => {
    const config = change(wholeConfig(), "verification.app.interface", "http://127.0.0.1:3000/api");
    expect(checkConfig(config).resolved?.verification.app?.address).toBe(
      "http://127.0.0.1:3000/api",
    );
  });
});

test("all faults of one file come in one run, each with its line and column, in the order of the file", () => {
  const text = `verification:
  coverage:
    command: c
    artifact: ../x
    parser: jacoco
    baseline: nonne
    min_line_pct: 101
rewiew: {max_rounds: 3}
caps:
  cost_usd: "25"
`;
  expect(checkYaml(text).issues.map(({ line, column, path }) => [line, column, path])).toEqual([
    [4, 15, "verification.coverage.artifact"],
    [5, 13, "verification.coverage.parser"],
    [6, 15, "verification.coverage.baseline"],
    [7, 19, "verification.coverage.min_line_pct"],
    [8, 1, "rewiew"],
    [10, 13, "caps.cost_usd"],
  ]);
});

test("a fault says what is wrong and what would be right", () => {
  const message = (path: string, value: unknown) =>
    checkConfig(change(wholeConfig(), path, value)).issues[0]?.message;
  expect(message("review.max_round", 3)).toBe(
    "Unknown key `max_round`. Did you mean `max_rounds`?",
  );
  expect(message("verification.coverage.parser", "jacoco")).toBe(
    "Parser `jacoco` is not implemented, and never counts as passing. Use `istanbul` (json-summary) or `lcov`.",
  );
  expect(message("verification.conformance.app", {})).toContain(
    "Move this block to `verification.app`.",
  );
  expect(message("verification.visual.required_when_ui_in_scope", true)).toContain(
    "derived from the verification mapping",
  );
  expect(message("test", {})).toContain("must not carry settings that do nothing");
  expect(message("routing.api_key", "sk")).toContain("it can't define a credential");
  expect(message("profile", "advisry")).toBe(
    "Expected `advisory` or `pr` or `merge` or `unattended`, got text (`advisry`). Did you mean `advisory`?",
  );
  expect(message("verification.app.stop_timeout_sec", 1.5)).toContain(
    "Expected a whole number, got 1.5.",
  );
});
