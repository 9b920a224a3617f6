import { join } from "node:path";
import { expect, test } from "vitest";
import { type AutomationFiles, checkAutomation } from "../../automation/checkAutomation";

const FIXTURES = join(__dirname, "../fixtures/automation");
const files: AutomationFiles = {
  config: join(FIXTURES, "automation.yaml"),
  mapping: join(FIXTURES, "verification.yaml"),
  presets: join(FIXTURES, "presets"),
  registry: join(FIXTURES, "routing.toml"),
  providers: join(FIXTURES, "providers.toml"),
};

test("the files of a whole project resolve to one contract", () => {
  const { valid, issues, resolved } = checkAutomation(files, { HX_REVIEW_MAX_ROUNDS: "2" });
  expect(issues).toEqual([]);
  expect(valid).toBe(true);
  expect(resolved?.verification.coverage).toEqual({
    command: "npm ci && npm run coverage",
    artifact: "coverage/coverage-summary.json",
    parser: "istanbul",
    baseline: "admission",
    preset: "web-app",
    min_line_pct: 80,
    min_branch_pct: 75,
    max_regression_pct: 0.5,
    floor_enforced_at: "phase",
    timeout_sec: 1200,
    // sha256sum of presets/web-app.json
    preset_sha256: "db08f809ce9b77b651ee23a6747570943b01fdf46a69d6c799709c6cc57d0a58",
  });
  expect(resolved?.verification.app?.address).toBe("http://127.0.0.1:3000/api");
  expect(resolved?.required).toEqual({ conformance: true, visual: true });
  expect(resolved?.criteria.conformance.map(({ id }) => id)).toEqual(["FR-2"]);
  expect(resolved?.criteria.visual.map(({ id }) => id)).toEqual(["FR-3"]);
  expect(resolved?.routing).toEqual({
    allowed_profiles: ["local-coder"],
    default_task_route: "local_first",
    tier2: { delegation_enabled: false },
    effective_profiles: ["local-coder"],
  });
  expect(resolved?.review).toEqual({ max_rounds: 2, loop_timeout_sec: 900 });
});

test("a registry that lacks them refuses the profile and the route", () => {
  const registry = join(FIXTURES, "providers.toml");
  expect(
    checkAutomation({ ...files, registry }, {}).issues.map(({ path, code }) => `${path} ${code}`),
  ).toEqual([
    "routing.allowed_profiles.0 unknown_profile",
    "routing.default_task_route unknown_route",
  ]);
});
