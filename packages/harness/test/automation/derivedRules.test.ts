import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/layers/temporaryFolder";
import { checkAutomation } from "../../automation/checkAutomation";
import { readRegistry } from "../../automation/namesElsewhere";
import { change, checkConfig, codes, directoryWith, type Json, wholeConfig } from "./scene";

const without = (...blocks: string[]) =>
  blocks.reduce(
    (config, block) => change(config, `verification.${block}`, undefined),
    wholeConfig() as object,
  );

describe("required blocks are derived from the verification mapping", () => {
  const REQUIRED = { conformance: true, visual: true };
  test.each([
    [
      "a map of id to requirement",
      { "FR-1": { kind: "runtime_conformance" }, "FR-2": { kind: "visual" } },
      REQUIRED,
    ],
    ["a list", [{ id: "FR-1", kind: "runtime_conformance" }, { kind: "visual" }], REQUIRED],
    [
      "under `requirements`",
      { requirements: [{ kind: "runtime_conformance" }, { kind: "visual" }] },
      REQUIRED,
    ],
    [
      "with verifiers",
      {
        status: "finalized",
        "FR-1": { verifiers: [{ kind: "deterministic" }, { kind: "visual" }] },
      },
      { conformance: false, visual: true },
    ],
    [
      "other kinds derive nothing",
      { "FR-1": { kind: "deterministic" } },
      { conformance: false, visual: false },
    ],
    ["an empty mapping derives nothing", {}, { conformance: false, visual: false }],
  ])("%s", (_, mapping, required) => {
    expect(checkConfig(wholeConfig(), { mapping }).resolved?.required).toEqual(required);
    const missing = codes(checkConfig(without("conformance", "visual"), { mapping }));
    expect(missing).toEqual([
      ...(required.conformance ? ["verification.conformance missing_key"] : []),
      ...(required.visual ? ["verification.visual missing_key"] : []),
    ]);
  });
  test("the app is asked for together with what needs it", () => {
    const mapping = [{ kind: "visual" }];
    expect(codes(checkConfig({}, { mapping }))).toEqual([
      "verification.visual missing_key",
      "verification.app missing_key",
    ]);
  });
  test("without a mapping nothing is required", () => {
    expect(checkConfig({}).resolved?.required).toBe(null);
  });
  test("the resolved contract holds the criteria", () => {
    const mapping = { "FR-7": { kind: "runtime_conformance", criterion: "answers in 1 s" } };
    expect(checkConfig(wholeConfig(), { mapping }).resolved?.criteria).toEqual({
      conformance: [{ id: "FR-7", kinds: ["runtime_conformance"], entry: mapping["FR-7"] }],
      visual: [],
    });
  });
  test.each([
    ["a requirement without kind", { "FR-1": { text: "x" } }, "FR-1 missing_key"],
    ["a kind that is not text", [{ kind: 3 }], "0 missing_key"],
    ["a requirement that is text", { "FR-1": "visual" }, "FR-1 missing_key"],
    [
      "a misspelled kind, which would make the block optional",
      { "FR-1": { kind: "visaul" } },
      "FR-1 unknown_value",
    ],
    [
      "a kind in another writing",
      { "FR-1": { kind: "runtime-conformance" } },
      "FR-1 unknown_value",
    ],
    ["text", '"visual"', " wrong_type"],
  ])("%s is a fault of the mapping file", (_, mapping, expected) => {
    const check = checkConfig(wholeConfig(), { mapping });
    expect(codes(check)).toEqual([expected]);
    expect(check.issues[0]?.file).toMatch(/mapping\.json$/);
  });
});

describe("presets are resolved, failing closed", () => {
  const block = (values: Json) => {
    const config = wholeConfig();
    config.verification.coverage = {
      command: "c",
      artifact: "a.json",
      parser: "istanbul",
      baseline: "none",
      preset: "service",
      ...values,
    };
    return config;
  };
  const floors = (check: ReturnType<typeof checkConfig>) => {
    const { min_line_pct, min_branch_pct, max_regression_pct } =
      check.resolved?.verification.coverage ?? {};
    return { min_line_pct, min_branch_pct, max_regression_pct };
  };
  test("a preset supplies floors, and its digest is in the contract", () => {
    const check = checkConfig(block({}), {
      presets: { "service.json": { min_line_pct: 70, min_branch_pct: 60 } },
    });
    expect(floors(check)).toEqual({ min_line_pct: 70, min_branch_pct: 60 });
    expect(check.resolved?.verification.coverage?.preset_sha256).toMatch(/^[0-9a-f]{64}$/);
  });
  test("values in the block win over the preset, key by key", () => {
    const presets = { "service.yaml": "min_line_pct: 70\nmin_branch_pct: 60\n" };
    expect(floors(checkConfig(block({ min_line_pct: 90 }), { presets }))).toEqual({
      min_line_pct: 90,
      min_branch_pct: 60,
    });
  });
  test.each([
    ["unknown preset, no floor", {}, {}, ["verification.coverage.preset unknown_preset"]],
    [
      "unknown preset, one floor",
      { min_line_pct: 80 },
      {},
      ["verification.coverage.preset unknown_preset"],
    ],
    [
      "unknown preset, both floors",
      { min_line_pct: 80, min_branch_pct: 70 },
      {},
      ["warning verification.coverage.preset unknown_preset"],
    ],
    [
      "unknown preset, both floors, admission without max_regression_pct",
      { min_line_pct: 80, min_branch_pct: 70, baseline: "admission" },
      {},
      ["verification.coverage.preset unknown_preset"],
    ],
    [
      "unknown preset, both floors, admission with max_regression_pct",
      { min_line_pct: 80, min_branch_pct: 70, baseline: "admission", max_regression_pct: 0 },
      {},
      ["warning verification.coverage.preset unknown_preset"],
    ],
    [
      "a preset with an unknown key",
      {},
      { "service.json": { min_line_pct: 80, extra: 1 } },
      ["verification.coverage.preset unknown_preset"],
    ],
    [
      "a preset that is not flat",
      {},
      { "service.json": { coverage: { min_line_pct: 80 } } },
      ["verification.coverage.preset unknown_preset"],
    ],
    [
      "a preset with an impossible floor",
      {},
      { "service.json": { min_line_pct: 180 } },
      ["verification.coverage.preset unknown_preset"],
    ],
    [
      "a preset that is not JSON",
      {},
      { "service.json": "{" },
      ["verification.coverage.preset unknown_preset"],
    ],
    [
      "a preset without floors",
      {},
      { "service.json": {} },
      ["verification.coverage missing_floor"],
    ],
    [
      "a preset that brings max_regression_pct to baseline none",
      {},
      { "service.json": { min_line_pct: 80, max_regression_pct: 1 } },
      ["verification.coverage.preset regression_without_baseline"],
    ],
    [
      "a preset that brings max_regression_pct to baseline admission",
      { baseline: "admission" },
      { "service.json": { min_line_pct: 80, max_regression_pct: 1 } },
      [],
    ],
    [
      "a preset without max_regression_pct for baseline admission",
      { baseline: "admission" },
      { "service.json": { min_line_pct: 80 } },
      ["verification.coverage.max_regression_pct missing_key"],
    ],
  ])("%s", (_, values, presets, expected) => {
    expect(codes(checkConfig(block(values), { presets }))).toEqual(expected);
  });
  test.each(["../service", "/etc/passwd", "a/b", "..", ".hidden", "a\\b"])(
    "%j is no bare name",
    (preset) => {
      const presets = { "service.json": { min_line_pct: 80 } };
      const [issue] = checkConfig(block({ preset }), { presets }).issues;
      expect(issue?.message).toContain("a preset is a bare name");
    },
  );
  test.each([
    [
      { min_line_pct: 180, min_branch: 1 },
      /^The preset can't be read: \S+service\.json isn't a preset: min_line_pct: Expected at most 100, got 180; min_branch: Unknown key `min_branch`\. Did you mean `min_branch_pct`\?\. Without it this block must supply min_line_pct and min_branch_pct\.$/,
    ],
    [[], /service\.json isn't a preset: Expected a map, got a list\. Without it/],
    ["{", /service\.json:1:2: not valid YAML: [^.]+\. Without it/],
  ])("a faulty preset %j is reported in one sentence", (preset, message) => {
    const [fault] = checkConfig(block({}), { presets: { "service.json": preset } }).issues;
    expect(fault?.message).toMatch(message);
  });
});

describe("routing only narrows the registry", () => {
  const registry = { profiles: ["local", "cloud"], routes: ["first", "second"] };
  test("an id and a route that it has are fine, and the effective set is the intersection", () => {
    expect(checkConfig(wholeConfig(), { registry }).resolved?.routing?.effective_profiles).toEqual([
      "local",
    ]);
  });
  test("without a restriction the effective set is the registry's", () => {
    const config = change(wholeConfig(), "routing.allowed_profiles", undefined);
    expect(checkConfig(config, { registry }).resolved?.routing?.effective_profiles).toEqual([
      "local",
      "cloud",
    ]);
  });
  test("an id that the registry lacks is a named violation, never dropped", () => {
    const config = change(wholeConfig(), "routing.allowed_profiles", ["local", "lokal"]);
    const check = checkConfig(config, { registry });
    expect(codes(check)).toEqual(["routing.allowed_profiles.1 unknown_profile"]);
    expect(check.issues[0]?.message).toContain(
      "has no profile `lokal`, and a repository can't add one. Did you mean `local`?",
    );
  });
  test("a route that the registry lacks is one too", () => {
    const config = change(wholeConfig(), "routing.default_task_route", "third");
    expect(codes(checkConfig(config, { registry }))).toEqual([
      "routing.default_task_route unknown_route",
    ]);
  });
  test("a registry that is not a map, or has no lists, is reported", () => {
    expect(codes(checkConfig({}, { registry: [] }))).toEqual([" wrong_type"]);
    expect(codes(checkConfig({}, { registry: { profiles: 3 } }))).toEqual(["profiles wrong_type"]);
  });
  test("a date of TOML is no list of names, nor a table of them", () => {
    const file = join(temporaryFolder("registry-"), "registry.toml");
    writeFileSync(file, "profiles = [1979-05-27]\nroutes = 1979-05-27\n");
    expect(readRegistry(file).faults.map(({ path, code }) => `${path} ${code}`)).toEqual([
      "profiles wrong_type",
      "routes wrong_type",
    ]);
  });
});

describe("the evaluator must declare conformance_command", () => {
  const providers = (line: string) =>
    `[providers.judge]\ntype = "cli"\n${line}\n[providers.other]\ntype = "cli"\n`;
  test.each([
    ["declared with the request", providers('conformance_command = "judge {review_request}"'), []],
    [
      "a reviewer only, however healthy",
      providers('command = "judge {review_request}"'),
      ["verification.conformance.evaluator no_conformance_command"],
    ],
    [
      "without the request",
      providers('conformance_command = "judge"'),
      ["verification.conformance.evaluator no_conformance_command"],
    ],
    [
      "the placeholder escaped, which only TOML undoes",
      providers('conformance_command = "judge \\u007breview_request}"'),
      ["verification.conformance.evaluator no_conformance_command"],
    ],
    [
      "indented, where the harness does not see it",
      providers('  conformance_command = "judge {review_request}"'),
      ["verification.conformance.evaluator no_conformance_command"],
    ],
    [
      "under a header that the harness gives another name",
      '[providers.judge] # ours\ntype = "cli"\nconformance_command = "judge {review_request}"\n',
      ["verification.conformance.evaluator no_conformance_command"],
    ],
    [
      "not declared at all",
      "[providers.jugde]\n",
      ["verification.conformance.evaluator unknown_provider"],
    ],
    ["no providers", "", ["verification.conformance.evaluator unknown_provider"]],
  ])("%s", (_, toml, expected) => {
    expect(codes(checkConfig(wholeConfig(), { providers: toml }))).toEqual(expected);
  });
});

describe("review.max_rounds", () => {
  test.each([
    [{}, 3, 3],
    [{ HX_REVIEW_MAX_ROUNDS: "7" }, 3, 7],
    [{ HX_REVIEW_MAX_ROUNDS: "" }, 3, 3],
    [{ HX_REVIEW_MAX_ROUNDS: "7" }, undefined, 7],
    [{ OTHER_REVIEW_MAX_ROUNDS: "7" }, undefined, 5],
  ])("environment %j and file %j give %j", (environment, rounds, expected) => {
    const config = change(wholeConfig(), "review.max_rounds", rounds);
    expect(checkConfig(config, {}, environment).resolved?.review.max_rounds).toBe(expected);
  });
  test.each(["0", "-1", "1.5", "many", "7 rounds", "1e2", "0x7"])(
    "%j in the variable is an error that names it and hides it",
    (text) => {
      const check = checkConfig(wholeConfig(), {}, { HX_REVIEW_MAX_ROUNDS: text });
      expect(codes(check)).toEqual(["review.max_rounds wrong_variable"]);
      expect(check.issues[0]?.message).toContain("HX_REVIEW_MAX_ROUNDS");
    },
  );
  test("the prefix is configurable", () => {
    const file = join(directoryWith({ "a.json": "{}" }), "a.json");
    expect(
      checkAutomation({ config: file }, { CCT_REVIEW_MAX_ROUNDS: "2" }, "CCT_").resolved?.review
        .max_rounds,
    ).toBe(2);
  });
});

describe("symlinks on the way to an artifact are resolved where the project is known", () => {
  const check = (link: string) => {
    const project = directoryWith({ "automation.json": wholeConfig(), "inside/x": "" });
    symlinkSync(link, join(project, "coverage"));
    return codes(checkAutomation({ config: join(project, "automation.json"), project }, {}));
  };
  test("a link that stays inside is fine", () => expect(check("inside")).toEqual([]));
  test("a link that leads out is refused", () =>
    expect(check("/tmp")).toEqual(["verification.coverage.artifact not_contained"]));
  test("a link that leads nowhere is refused", () =>
    expect(check("nowhere")).toEqual(["verification.coverage.artifact not_contained"]));
});
