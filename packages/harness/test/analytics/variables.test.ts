import { parseJson } from "@local-serving/base/faults/jsonDocument";
import { describe, expect, it } from "vitest";
import { configureAnalytics, shownValues } from "../../analytics/configuration";
import type { Variables } from "../../analytics/variables";

interface Sources {
  file?: unknown;
  dotenv?: Variables;
  env?: Variables;
  set?: Record<string, string>;
  prefix?: string;
}

function configure({ file, dotenv, env = {}, set = {}, prefix = "HX_" }: Sources) {
  const configuration = configureAnalytics({
    prefix,
    document: file === undefined ? undefined : parseJson("a.json", JSON.stringify(file)),
    dotenv: dotenv === undefined ? undefined : { file: ".env", variables: dotenv },
    environment: env,
    settings: Object.entries(set).map(([key, value]) => ({ key, value })),
  });
  return { values: shownValues(configuration), faults: configuration.faults };
}

describe("a mode of redaction that the harness lacks", () => {
  it.each<[string, Sources]>([
    ["the file", { file: { redaction_mode: "nome" } }],
    [".env", { dotenv: { HX_SA_REDACTION: "nome" } }],
    ["the environment", { env: { HX_SA_REDACTION: "nome" } }],
    ["an argument", { set: { redaction_mode: "nome" } }],
  ])("is refused in %s, and sets nothing", (_, sources) => {
    const { values, faults } = configure(sources);
    expect(faults.map(({ path, severity }) => [path, severity])).toEqual([
      ["redaction_mode", "error"],
    ]);
    expect(values.redaction_mode).toEqual({ value: "code", layer: "default" });
  });
});

describe("backends that can't work", () => {
  const warned = (sources: Sources) =>
    configure(sources).faults.map(({ path, code, severity, line }) => [path, code, severity, line]);
  const openai = { backend: "openai", model: "m" };

  it.each<[string, Sources, unknown[]]>([
    [
      "a mistyped one",
      { file: { embedding: { backend: "olama" }, judge: { default: { backend: "opnai" } } } },
      [
        ["embedding.backend", "unknown_backend", "warning", 1],
        ["judge.default.backend", "unknown_backend", "warning", 1],
      ],
    ],
    [
      "openai without an address and a model",
      { env: { HX_SA_JUDGE_BACKEND: "openai" } },
      [
        ["judge.default.model", "no_model", "warning", undefined],
        ["judge.base_url", "no_api_address", "warning", undefined],
      ],
    ],
    [
      "a tool's own judge with an address without a version",
      { file: { judge: { by_copilot: { aider: openai }, base_url: "http://h:8001" } } },
      [["judge.base_url", "no_api_address", "warning", 1]],
    ],
    [
      "embedding by openai at Ollama's address",
      { env: { HX_SA_EMBED_BACKEND: "openai" } },
      [["embedding.ollama_url", "no_api_address", "warning", undefined]],
    ],
  ])("warns of %s", (_, sources, expected) => {
    expect(warned(sources)).toEqual(expected);
  });

  it.each<[string, Sources]>([
    ["a tool that judges", { file: { judge: { default: { backend: "pi" } } } }],
    [
      "an address that another layer has",
      {
        file: { judge: { default: openai } },
        env: { HX_SA_JUDGE_BASE_URL: "http://h:8001/v1" },
      },
    ],
    [
      "what only the file lacks",
      { file: { judge: { default: openai } }, dotenv: { HX_SA_JUDGE_BACKEND: "ollama" } },
    ],
  ])("takes %s", (_, sources) => {
    expect(warned(sources)).toEqual([]);
  });
});

describe("variables over the file", () => {
  it("come from .env, then from the environment, then from arguments", () => {
    const name = "similarity.top_k";
    const file = { similarity: { top_k: 1 } };
    const dotenv = { HX_SA_SIMILARITY_TOP_K: "2" };
    const env = { HX_SA_SIMILARITY_TOP_K: "3" };
    expect(configure({}).values[name]).toEqual({ value: 5, layer: "default" });
    expect(configure({ file }).values[name]).toEqual({ value: 1, layer: "file" });
    expect(configure({ file, dotenv }).values[name]).toEqual({ value: 2, layer: "dotenv" });
    expect(configure({ file, dotenv, env }).values[name]).toEqual({ value: 3, layer: "env" });
    expect(configure({ file, dotenv, env, set: { [name]: "4" } }).values[name]).toEqual({
      value: 4,
      layer: "cli",
    });
  });

  it.each<[string, Variables, string, unknown]>([
    ["HX_SA_DSN is read directly", { HX_SA_DSN: "sqlite:///x" }, "dsn", "sqlite:///x"],
    [
      "HX_SA_JUDGE_BACKEND sets the default judge",
      { HX_SA_JUDGE_BACKEND: "claude-code" },
      "judge.default.backend",
      "claude-code",
    ],
    ["HX_SA_JUDGE_MODEL, too", { HX_SA_JUDGE_MODEL: "m" }, "judge.default.model", "m"],
    [
      "HX_SA_ROUTING_EVIDENCE_ROOTS",
      { HX_SA_ROUTING_EVIDENCE_ROOTS: "/a,/b" },
      "routing_evidence_roots",
      ["/a", "/b"],
    ],
    [
      "HX_SA_TEAM_ACTIVE_WINDOW",
      { HX_SA_TEAM_ACTIVE_WINDOW: "60" },
      "team.active_window_seconds",
      60,
    ],
    [
      "a calibration's key in capitals",
      { HX_SA_CALIBRATION_K_MIN: "2" },
      "routing_calibration.k_min",
      2,
    ],
    [
      "a tool's folder, a dash as an underscore",
      { HX_SA_SOURCE_CLAUDE_CODE: "/c" },
      "sources.claude-code",
      "/c",
    ],
    ["a tool that no layer knows", { HX_SA_SOURCE_NEW_TOOL: "/n" }, "sources.new-tool", "/n"],
    [
      "a list with commas",
      { HX_SA_NOISE_PATH_PATTERNS: "/a, /b ,," },
      "sessions.noise.path_patterns",
      ["/a", "/b"],
    ],
    [
      "a list as JSON",
      { HX_SA_NOISE_PATH_PATTERNS: '["/a,b"]' },
      "sessions.noise.path_patterns",
      ["/a,b"],
    ],
    [
      "a number with an exponent",
      { HX_SA_CALIBRATION_VOTE_EPSILON: "1e-9" },
      "routing_calibration.vote_epsilon",
      1e-9,
    ],
    ["zero", { HX_SA_NOISE_MIN_TURNS: "0" }, "sessions.noise.min_turns", 0],
    ["a budget", { HX_SA_BUDGET_TEAM_DAILY_USD: "12.5" }, "team.budgets.team_daily_usd", 12.5],
  ])("%s", (_, variables, name, value) => {
    expect(configure({ env: variables }).values[name]).toEqual({ value, layer: "env" });
    expect(configure({ dotenv: variables }).values[name]).toEqual({ value, layer: "dotenv" });
    expect(configure({ env: variables }).faults).toEqual([]);
  });

  it("names the tool that the file knows, underscores in its id included", () => {
    const { values } = configure({
      file: { sources: { my_tool: "/f" } },
      env: { HX_SA_SOURCE_MY_TOOL: "/e" },
    });
    expect(values["sources.my_tool"]).toEqual({ value: "/e", layer: "env" });
    expect(values["sources.my-tool"]).toBeUndefined();
  });

  it("count as not set when they are empty", () => {
    const { values, faults } = configure({ env: { HX_SA_EMBED_WORKERS: "", HX_SA_REDACTION: "" } });
    expect(values["embedding.workers"]).toEqual({ value: 1, layer: "default" });
    expect(values.redaction_mode).toEqual({ value: "code", layer: "default" });
    expect(faults).toEqual([]);
  });

  it.each(["2x", "x", "0x10", "1_000", "Infinity", "NaN", "1.5.2", "1,5", "--1"])(
    "refuse %j for a number, naming key and variable, not the text",
    (text) => {
      const { values, faults } = configure({ env: { HX_SA_RUNAWAY_MAX_COST_RECENT_USD: text } });
      expect(values["team.runaway.max_cost_recent_usd"]).toEqual({ value: 20, layer: "default" });
      expect(faults).toEqual([
        {
          path: "team.runaway.max_cost_recent_usd",
          code: "wrong_variable",
          message:
            "The variable `HX_SA_RUNAWAY_MAX_COST_RECENT_USD` (environment) can't set " +
            "`team.runaway.max_cost_recent_usd`: The text is not a number.",
          severity: "error",
        },
      ]);
    },
  );

  it.each([
    ["HX_SA_EMBED_WORKERS", "1.5"],
    ["HX_SA_EMBED_WORKERS", "0"],
    ["HX_SA_SIMILARITY_THRESHOLD", "1.1"],
    ["HX_SA_JUDGE_BASE_URL", "localhost"],
    ["HX_SA_NOISE_PATH_PATTERNS", "[1]"],
    ["HX_SA_NOISE_PATH_PATTERNS", '["a"'],
  ])("are held to the schema: %s=%s", (variable, text) => {
    const { faults } = configure({ dotenv: { [variable]: text } });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatchObject({ code: "wrong_variable", severity: "error" });
    expect(faults[0]?.message).toContain(`\`${variable}\` (.env)`);
  });

  it("have the harness's prefix and no other", () => {
    const env = { CCT_SA_EMBED_WORKERS: "7", HX_SA_EMBED_WORKERS: "8" };
    expect(configure({ env, prefix: "CCT_" }).values["embedding.workers"]).toEqual({
      value: 7,
      layer: "env",
    });
    expect(configure({ env }).values["embedding.workers"]).toEqual({ value: 8, layer: "env" });
  });

  it("that belong to no key are shown with their layer", () => {
    const { values, faults } = configure({
      dotenv: { HX_SA_DB: "/d.db", HX_DEVELOPER_ID: "ann" },
      env: { HX_SA_TEAM_ALIASES: "ann=a", HX_DEVELOPER_ID: "bob" },
    });
    expect(values.HX_SA_DB).toEqual({ value: "/d.db", layer: "dotenv" });
    expect(values.HX_SA_TEAM_ALIASES).toEqual({ value: "ann=a", layer: "env" });
    expect(values.HX_DEVELOPER_ID).toEqual({ value: "bob", layer: "env" });
    expect(faults).toEqual([]);
    expect(configure({}).values.HX_SA_DB).toBeUndefined();
  });

  it("that are unknown are a warning with the nearest one", () => {
    const { faults } = configure({
      env: { HX_SA_EMBED_WORKRS: "1", HX_OTHER: "x", HX_SA_EMBED_INPUT_CAP: "1" },
    });
    expect(faults.map(({ severity, message }) => [severity, message])).toEqual([
      ["warning", expect.stringContaining("HX_SA_EMBED_INPUT_CAP")],
      [
        "warning",
        "The variable `HX_SA_EMBED_WORKRS` (environment) belongs to no key. Did you mean `HX_SA_EMBED_WORKERS`?",
      ],
    ]);
  });

  it("are never guessed for keys that have none", () => {
    const env = { HX_SA_EMBEDDING_INPUT_CAP_CHARS: "1", HX_SA_AUTO_BUILD_LEDGER_ROOT: "x" };
    const { values } = configure({ env });
    expect(values["embedding.input_cap_chars"]?.layer).toBe("default");
    expect(values["auto_build.ledger_root"]?.layer).toBe("default");
  });
});

describe("the variables of the default judge", () => {
  const file = { judge: { default: { backend: "ollama", model: "llama3" } } };
  it("select the whole block: a backend leaves the file's model behind", () => {
    const { values } = configure({ file, env: { HX_SA_JUDGE_BACKEND: "openai" } });
    expect(values["judge.default.backend"]).toEqual({ value: "openai", layer: "env" });
    expect(values["judge.default.model"]).toEqual({ value: "", layer: "env" });
  });

  it("may come from two layers", () => {
    const { values } = configure({
      file,
      dotenv: { HX_SA_JUDGE_MODEL: "m" },
      env: { HX_SA_JUDGE_BACKEND: "openai" },
    });
    expect(values["judge.default.model"]).toEqual({ value: "m", layer: "dotenv" });
  });

  it("set the model alone for the backend that is there", () => {
    const { values } = configure({ file, env: { HX_SA_JUDGE_MODEL: "m" } });
    expect(values["judge.default.backend"]).toEqual({ value: "ollama", layer: "file" });
    expect(values["judge.default.model"]).toEqual({ value: "m", layer: "env" });
  });
});

describe("arguments", () => {
  it.each([
    ["judge.default.model", "m"],
    ["sources.my-tool", "/m"],
    ["routing_calibration.k", "7"],
    ["dsn", "sqlite:///x"],
  ])("set %s, which has a variable", (name, text) => {
    const { values, faults } = configure({ set: { [name]: text } });
    expect(faults).toEqual([]);
    expect(values[name]).toEqual({ value: name.endsWith(".k") ? 7 : text, layer: "cli" });
  });

  it.each([
    ["embedding.input_cap_chars", "1", "file_only", "has no variable"],
    ["pricing.models.m.input", "1", "file_only", "has no variable"],
    ["judge.by_copilot.t.model", "m", "file_only", "has no variable"],
    ["embeding.workers", "1", "unknown_key", "Did you mean `embedding.workers`?"],
    ["embedding.workers", "two", "wrong_value", "not a number"],
    ["judge.api_key", "sk-SECRET", "secret", "HX_SA_JUDGE_API_KEY"],
    ["dsn", "postgres://u:SECRET@h/d", "secret", "HX_SA_DSN"],
  ])("do not set %s to %s", (name, text, code, message) => {
    const { values, faults } = configure({ set: { [name]: text } });
    expect(faults.map(({ path, code }) => [path, code])).toEqual([[name, code]]);
    expect(faults[0]?.message).toContain(message);
    expect(values[name]?.layer).not.toBe("cli");
    expect(JSON.stringify([values, faults])).not.toContain("SECRET");
  });
});

describe("secrets", () => {
  it("are shown as set, with their layer", () => {
    const { values } = configure({
      dotenv: { HX_SA_DSN: "postgresql://app:pwSECRET@db/s", HX_SA_DB: "postgres://a:bSECRET@c/d" },
      env: { HX_SA_JUDGE_API_KEY: "sk-SECRET", HX_SA_JUDGE_BASE_URL: "https://u:SECRET@h/v1" },
    });
    expect(values["judge.api_key"]).toEqual({ value: "<set>", layer: "env" });
    expect(values.dsn).toEqual({ value: "<set>", layer: "dotenv" });
    expect(values.HX_SA_DB).toEqual({ value: "<set>", layer: "dotenv" });
    expect(values["judge.base_url"]).toEqual({ value: "<set>", layer: "env" });
    expect(JSON.stringify(values)).not.toContain("SECRET");
  });

  it("that are not set are shown as empty", () => {
    expect(configure({}).values["judge.api_key"]).toEqual({ value: "", layer: "default" });
  });

  it("in the file do not become effective", () => {
    const { values } = configure({ file: { judge: { api_key: "sk-SECRET" } } });
    expect(values["judge.api_key"]).toEqual({ value: "", layer: "default" });
  });
});

describe("a wrong value in the file", () => {
  it("is not set; the layer below holds", () => {
    const { values, faults } = configure({
      file: { embedding: { workers: "2" }, sessions: { noise: { path_patterns: [1] } } },
    });
    expect(values["embedding.workers"]).toEqual({ value: 1, layer: "default" });
    expect(values["sessions.noise.path_patterns"]?.layer).toBe("default");
    expect(faults.map(({ path }) => path)).toEqual([
      "embedding.workers",
      "sessions.noise.path_patterns.0",
    ]);
  });
});
