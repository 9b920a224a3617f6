import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { json as bodyOf } from "node:stream/consumers";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { serving } from "../../../cli/servingCommand";
import { httpServer } from "../../layers/httpServer";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { runServing } from "../runServing";

const fixtures = resolve("packages/harness/test");
const good = join(fixtures, "providers/fixtures/good.toml");
const wrong = join(fixtures, "providers/fixtures/wrong.toml");
const analytics = join(fixtures, "analytics/fixtures/good.json");
const folder = () => temporaryFolder("config-");
const json = (text: string) => JSON.parse(text);

describe("serving harness", () => {
  it("gives every command a help with an example and both formats", async () => {
    const leaves = (command: Command, path: string[]): string[][] =>
      command.commands.length === 0
        ? [path]
        : command.commands.flatMap((each) => leaves(each, [...path, each.name()]));
    const { commands } = await serving(["harness"]);
    const harness = commands.find((each) => each.name() === "harness");
    const paths = harness === undefined ? [] : leaves(harness, ["harness"]);
    expect(paths.length).toBe(13);
    for (const path of paths) {
      const { code, out } = await runServing([...path, "--help"]);
      expect(code).toBe(0);
      expect(out).toContain(`Example:\n  serving ${path.join(" ")}`);
      expect(out).toContain("--format <format>");
    }
  });

  it.each([
    "",
    "harness",
    "harness check",
    "harness show",
    "harness set",
    "harness init",
    "harness freeze",
    "harness gate",
    "harness app",
  ])("shows an example in the help of the group `%s`, too", async (words) => {
    const { code, out } = await runServing([...words.split(" ").filter(Boolean), "--help"]);
    expect(code).toBe(0);
    expect(out).toContain(`Example:\n  serving ${words}`);
  });
});

describe("serving harness check", () => {
  it("takes a good profile", async () => {
    const run = await runServing(["harness", "check", "providers", good, "--format", "json"]);
    expect(run).toMatchObject({ code: 0, err: "" });
    expect(json(run.out)).toMatchObject({
      valid: true,
      issues: [],
      resolved: { providers: { local: { metered: true } } },
    });
    expect((await runServing(["harness", "check", "providers", good])).out).toBe(
      `${good}: valid\n`,
    );
  });

  it("lists the faults of a wrong one, with places, and shows no secret", async () => {
    const run = await runServing(["harness", "check", "providers", wrong, "--format", "json"]);
    expect(run).toMatchObject({ code: 1, err: "" });
    const { valid, issues, resolved } = json(run.out);
    expect([valid, issues.length, resolved]).toEqual([false, 13, null]);
    const text = await runServing(["harness", "check", "providers", wrong]);
    expect(text.code).toBe(1);
    expect(text.out).toContain(
      `error: ${wrong}:7:12 providers.local.base_url: The URL must end in exactly`,
    );
    expect(text.out).toContain(`${wrong}: 10 faults`);
    expect(run.out + text.out).not.toContain("SECRET");
  });

  it.each([
    ["providers", "none.toml", undefined, "no such file"],
    ["providers", "bad.toml", "[x", "not valid TOML"],
    ["analytics", "none.json", undefined, "no such file"],
    ["analytics", "bad.json", '{"a": }', "not valid JSON"],
  ])("can't read %s in %s, and says so in one document", async (subject, name, text, message) => {
    const file = join(folder(), name);
    if (text !== undefined) writeFileSync(file, text);
    const run = await runServing(["harness", "check", subject, file, "--format", "json"]);
    expect(run.code).toBe(2);
    expect(json(run.out)).toMatchObject({
      valid: false,
      issues: [{ path: "", code: "unreadable" }],
      resolved: null,
    });
    expect(json(run.out).issues[0].message).toContain(message);
    const said = await runServing(["harness", "check", subject, file]);
    expect(said.code).toBe(2);
    expect(said.out).toMatch(new RegExp(`^${file}(?::\\d+:\\d+)?: [^\n]*${message}[^\n]*\n$`));
  });

  it.each([
    ["harness freeze automation FILE --out FILE.out"],
    ["harness show analytics --config FILE"],
    ["harness set analytics judge.default.model m --config FILE"],
    ["plan --file FILE"],
  ])("is not alone in that a file that can't be read has a document: `%s`", async (words) => {
    const file = join(folder(), "bad.json");
    writeFileSync(file, '{"a": [');
    const args = words.replaceAll("FILE", file).split(" ");
    const run = await runServing([...args, "--format", "json"]);
    expect(run.code).toBe(2);
    expect(json(run.out).faults).toMatchObject([{ path: "", code: "unreadable", file, line: 1 }]);
    expect(run.err).toContain(file);
    expect((await runServing(args)).out).toBe("");
  });

  it.each(["3", "null", "[]", '"text"'])("faults an analytics file that is %s", async (text) => {
    const file = join(folder(), "a.json");
    writeFileSync(file, text);
    const run = await runServing(["harness", "check", "analytics", file, "--format", "json"]);
    expect(run.code).toBe(1);
    const [issue, ...more] = json(run.out).issues;
    expect(more).toEqual([]);
    expect(issue).toMatchObject({ path: "", code: "wrong_type", line: 1, column: 1 });
    expect(issue.message).toMatch(/^Expected a map, got /);
  });

  it("asks every provider with --probe, over a real socket", async () => {
    const bodies: Record<string, unknown>[] = [];
    const { url } = await httpServer(async (request, response) => {
      const body = (await bodyOf(request)) as Record<string, unknown>;
      bodies.push(body);
      if ("thinking" in body) response.statusCode = 400;
      const answer =
        "thinking" in body ? { error: { message: "thinking" } } : { choices: [{ message: {} }] };
      response.end(JSON.stringify(answer));
    });
    const file = join(folder(), "p.toml");
    const profile = (health: string) =>
      `[providers.b]\ntype = "openai-compatible"\nbase_url = "${url}/v1"\nmodel = "m"\nhealthcheck = "${health}"\n`;
    writeFileSync(file, profile("true"));
    const fine = await runServing([
      "harness",
      "check",
      "providers",
      file,
      "--probe",
      "--format",
      "json",
    ]);
    expect(fine.code).toBe(0);
    expect(json(fine.out).probes.map(({ status }: { status: string }) => status)).toEqual([
      "pass",
      "pass",
    ]);
    expect(bodies.map((body) => "thinking" in body)).toEqual([true, false]);
    writeFileSync(file, profile("exit 4"));
    const failed = await runServing(["harness", "check", "providers", file, "--probe"]);
    expect(failed.code).toBe(1);
    expect(failed.out).toContain("fail: b: healthcheck: the command exits with 4.");
  });

  it("shows with --probe which reviewers were tried and what calls cost", async () => {
    const usage = { prompt_tokens: 1_000_000, completion_tokens: 200_000 };
    const answer = JSON.stringify({ choices: [{ message: {} }], usage });
    const { url } = await httpServer((_, response) => response.end(answer));
    const file = join(folder(), "p.toml");
    const table = (name: string, ...lines: string[]) => [`[providers.${name}]`, ...lines];
    writeFileSync(
      file,
      [
        ...table("down", 'type = "cli"', 'command = "x {review_request}"', 'healthcheck = "false"'),
        ...table("faulty", 'type = "cli" # a comment'),
        ...table(
          "server",
          'type = "openai-compatible"',
          'model = "m"',
          `base_url = "${url}/v1"`,
          "price_usd_per_mtok_input = 3",
          "price_usd_per_mtok_output = 15",
        ),
        ...table(
          "silent",
          'type = "openai-compatible"',
          'model = "m"',
          'base_url = "http://127.0.0.1:9/v1"',
        ),
        "[defaults]",
        'peer_for.codex = "down"',
        'fallback_chain.codex = ["faulty", "silent", "server", "down"]',
        'peer_for.claude = "silent"',
        "",
      ].join("\n"),
    );
    const args = ["config", "check", "providers", file, "--probe"];
    const { code, out } = await runServing([...args, "--format", "json"]);
    const text = await runServing(args);
    expect(code).toBe(1);
    const { reviewers, costs } = json(out);
    expect(reviewers).toEqual([
      {
        subject: "codex",
        tried: [
          { provider: "down", outcome: "unhealthy", detail: "the command exits with 1" },
          { provider: "faulty", outcome: "unhealthy", detail: "its table has faults" },
          {
            provider: "silent",
            outcome: "no-review",
            detail: "no connection: nothing listens there (connection refused)",
          },
          { provider: "server", outcome: "healthy", detail: "no healthcheck is set" },
        ],
        chosen: "server",
      },
      {
        subject: "claude",
        tried: [
          {
            provider: "silent",
            outcome: "no-review",
            detail: "no connection: nothing listens there (connection refused)",
          },
        ],
        chosen: null,
      },
    ]);
    expect(costs).toEqual([
      { provider: "down", basis: "estimated" },
      { provider: "server", basis: "metered", probe_usd: 6 },
      { provider: "silent", basis: "estimated" },
    ]);
    expect(text.out).toContain(
      "reviewers of claude: silent (no-review: no connection: nothing listens there (connection refused)), then no reviewer is left\n",
    );
    expect(text.out).toContain("cost of server: metered, by its prices; the probe cost 6 USD\n");
    expect(text.out).toContain(
      "cost of down: estimated, by unattended.budget.estimate_usd_per_invocation of the automation config\n",
    );
  });

  it("takes a good session-analytics file, and holds variables to it", async () => {
    const dotenv = join(folder(), ".env");
    writeFileSync(dotenv, "HX_SA_SIMILARITY_TOP_K=many\n");
    expect((await runServing(["harness", "check", "analytics", analytics])).code).toBe(0);
    const run = await runServing([
      "harness",
      "check",
      "analytics",
      analytics,
      "--dotenv",
      dotenv,
      "--format",
      "json",
    ]);
    expect(run.code).toBe(1);
    expect(json(run.out).issues).toEqual([
      expect.objectContaining({
        path: "similarity.top_k",
        message: expect.stringContaining("HX_SA_SIMILARITY_TOP_K"),
      }),
    ]);
    const env = { HX_SA_EMBED_WORKERS: "x" };
    expect((await runServing(["harness", "check", "analytics", analytics], env)).code).toBe(1);
  });
});

describe("serving harness check of a stack file", () => {
  it.each([
    ["no subject", []],
    ["the subject automation", ["automation"]],
    ["the subject providers", ["providers"]],
  ])("with %s points to the plan", async (_, subject) => {
    const file = join(folder(), "Pulumi.x.yaml");
    writeFileSync(file, "config: {}\n");
    const run = await runServing(["harness", "check", ...subject, file]);
    expect(run.code).toBe(2);
    expect(run.out + run.err).toBe(
      `${file}: this is a stack file; check it with \`serving plan --file ${file}\`\n`,
    );
  });
});

describe("serving harness check analytics", () => {
  it("takes the file in the harness's folder when it gets none", async () => {
    const home = folder();
    const file = join(home, "session-analytics.json");
    const check = ["harness", "check", "analytics", "--home", home];
    expect(await runServing(check)).toEqual({ code: 2, out: `${file}: no such file\n`, err: "" });
    writeFileSync(file, '{"kuzu_path": 3}');
    const wrong = await runServing(check);
    expect(wrong.code).toBe(1);
    expect(wrong.out).toContain(`error: ${file}:1:15 kuzu_path: Expected text, got a number.`);
    writeFileSync(file, "{}");
    expect(await runServing(check)).toEqual({ code: 0, out: `${file}: valid\n`, err: "" });
  });

  it("resolves to what holds, with ids that have dots, and shows no secret", async () => {
    const file = join(folder(), "a.json");
    writeFileSync(
      file,
      JSON.stringify({
        judge: { workers: 3 },
        pricing: { models: { "gpt-4.1": { input: 1 }, constructor: { input: 2 } } },
      }),
    );
    const env = {
      HX_SA_JUDGE_API_KEY: "sk-SECRET",
      HX_SA_DSN: "host=h password=SECRET",
      HX_DEVELOPER_ID: "me",
    };
    const run = await runServing(["harness", "check", "analytics", file, "--format", "json"], env);
    expect(run.code).toBe(0);
    const { resolved } = json(run.out);
    expect(resolved).toMatchObject({
      dsn: "<set>",
      judge: { workers: 3, api_key: "<set>", default: { backend: "ollama", model: "" } },
      pricing: { models: { "gpt-4.1": { input: 1, currency: "USD" }, constructor: { input: 2 } } },
    });
    expect(Object.keys(resolved)).not.toContain("HX_DEVELOPER_ID");
    expect(run.out).not.toContain("SECRET");
    const wrong = await runServing(["harness", "check", "analytics", file, "--format", "json"], {
      HX_SA_JUDGE_WORKERS: "x",
    });
    expect(json(wrong.out).resolved).toBe(null);
  });
});

describe("serving harness show analytics", () => {
  const show = (...more: string[]) => ["harness", "show", "analytics", "--format", "json", ...more];

  it("shows each value with its layer", async () => {
    const dotenv = join(folder(), ".env");
    writeFileSync(dotenv, "HX_SA_EMBED_MODEL=e\nHX_SA_SIMILARITY_TOP_K=7\n");
    const env = { HX_SA_SIMILARITY_TOP_K: "8", HX_SA_JUDGE_API_KEY: "sk-SECRET" };
    const run = await runServing(
      show("--config", analytics, "--dotenv", dotenv, "--set", "judge.workers=3"),
      env,
    );
    expect(run.code).toBe(0);
    const { values } = json(run.out);
    expect(values["embedding.backend"]).toEqual({ value: "ollama", layer: "default" });
    expect(values["judge.default.model"]).toEqual({ value: "qwen3-coder-next", layer: "file" });
    expect(values["embedding.model"]).toEqual({ value: "e", layer: "dotenv" });
    expect(values["similarity.top_k"]).toEqual({ value: 8, layer: "env" });
    expect(values["judge.workers"]).toEqual({ value: 3, layer: "cli" });
    expect(values["judge.api_key"]).toEqual({ value: "<set>", layer: "env" });
    expect(run.out + run.err).not.toContain("SECRET");
  });

  it("takes the file in the harness's folder, which need not be there", async () => {
    const home = folder();
    const dotenv = join(home, ".env");
    writeFileSync(dotenv, "");
    expect((await runServing(show("--home", join(home, "none"), "--dotenv", dotenv))).code).toBe(0);
    writeFileSync(join(home, "session-analytics.json"), '{"redaction_mode":"none"}');
    const run = await runServing(show("--home", home, "--dotenv", dotenv));
    expect(json(run.out).values.redaction_mode).toEqual({ value: "none", layer: "file" });
  });

  it.each([
    ["nope=2", "error: Unknown key `nope`."],
    ["judge=x", "error: `judge` is a block; set one of its keys: judge.default.backend,"],
    ["judge.workers=many", "error: judge.workers: The text is not a number."],
    [
      "judge.workers=0",
      "error: judge.workers: Expected at least 1, got 0. (Sessions judged at once.)",
    ],
    ["auto_build.ledger_root=x", "error: auto_build.ledger_root: This key has no variable,"],
    [
      "dsn=host=h password=SECRET",
      "error: dsn: A secret is set in the environment only, by the variable HX_SA_DSN.",
    ],
  ])(
    "says what is wrong with --set %s, once, and shows no table beside it",
    async (setting, message) => {
      const run = await runServing([
        "harness",
        "show",
        "analytics",
        "--config",
        analytics,
        "--set",
        setting,
      ]);
      expect([run.code, run.out]).toEqual([1, ""]);
      expect(run.err.split("\n")).toEqual([expect.stringContaining(message), ""]);
      expect(run.err).not.toContain("SECRET");
    },
  );

  it("shows the table beside the faults of a file or variable, and names key and variable once", async () => {
    const run = await runServing(["harness", "show", "analytics", "--config", analytics], {
      HX_SA_JUDGE_WORKERS: "x",
    });
    expect(run.code).toBe(1);
    expect(run.out).toMatch(/^judge\.workers +default +2$/m);
    expect(run.err).toBe(
      "error: The variable `HX_SA_JUDGE_WORKERS` (environment) can't set `judge.workers`: The text is not a number.\n",
    );
  });

  it("takes another harness's prefix", async () => {
    const run = await runServing(show("--config", analytics, "--prefix", "CCT_"), {
      CCT_SA_EMBED_WORKERS: "6",
    });
    expect(json(run.out).values["embedding.workers"]).toEqual({ value: 6, layer: "env" });
  });

  it.each([
    [["--set", "embedding.workers"], 2],
    [["--set", "=x"], 2],
    [["--prefix", "1-"], 2],
    [["--config", "/no/such/file.json"], 2],
    [["--dotenv", "/no/such/.env"], 2],
    [["--set", "embedding.workers=x"], 1],
    [["--set", "judge.api_key=sk-SECRET"], 1],
  ])("ends %j with %d", async (args, code) => {
    const run = await runServing(show(...args));
    expect(run.code).toBe(code);
    expect(run.err).not.toBe("");
    expect(run.out + run.err).not.toContain("SECRET");
  });
});

describe("serving harness set analytics", () => {
  const set = (file: string, key: string, value: string) => [
    "harness",
    "set",
    "analytics",
    key,
    value,
    "--config",
    file,
    "--format",
    "json",
  ];

  it("writes one key, and makes the file where there is none", async () => {
    const file = join(folder(), "home", "session-analytics.json");
    expect(await runServing(set(file, "embedding.workers", "4"))).toMatchObject({
      code: 0,
      err: "",
    });
    expect(readFileSync(file, "utf8")).toBe('{\n  "embedding": {\n    "workers": 4\n  }\n}\n');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await runServing(set(file, "redaction_mode", "none"));
    expect(json(readFileSync(file, "utf8"))).toEqual({
      embedding: { workers: 4 },
      redaction_mode: "none",
    });
    expect(readdirSync(join(file, ".."))).toEqual(["session-analytics.json"]);
  });

  it.each([
    ["judge.api_key", "sk-SECRET", "HX_SA_JUDGE_API_KEY"],
    ["embedding.workers", "many", "not a number"],
    ["nonsense", "1", "Unknown key"],
  ])("refuses %s and leaves the file as it is", async (key, value, message) => {
    const file = join(folder(), "a.json");
    writeFileSync(file, '{"a":1}');
    const run = await runServing(set(file, key, value));
    expect(run.code).toBe(1);
    expect(json(run.out)).toMatchObject({
      written: false,
      issues: [{ message: expect.stringContaining(message) }],
    });
    expect(readFileSync(file, "utf8")).toBe('{"a":1}');
    expect(run.out).not.toContain("SECRET");
  });

  it.each(["{", "[]", '{"a":1,"a":2}'])("does not touch a file that holds %s", async (text) => {
    const file = join(folder(), "a.json");
    writeFileSync(file, text);
    expect((await runServing(set(file, "embedding.workers", "4"))).code).toBe(2);
    expect(readFileSync(file, "utf8")).toBe(text);
  });
});

describe("serving harness init", () => {
  it.each(["providers", "analytics"])(
    "writes a file of %s that passes its own check, once",
    async (subject) => {
      const file = join(folder(), "file");
      expect((await runServing(["harness", "init", subject, file])).code).toBe(0);
      const text = readFileSync(file, "utf8");
      const check = await runServing(["harness", "check", subject, file, "--format", "json"]);
      expect(json(check.out)).toMatchObject({ valid: true, issues: [] });
      expect((await runServing(["harness", "init", subject, file])).code).toBe(1);
      expect(readFileSync(file, "utf8")).toBe(text);
    },
  );

  it("writes into the harness's folder by default", async () => {
    const home = join(folder(), "home");
    await runServing(["harness", "init", "providers", "--home", home]);
    await runServing(["harness", "init", "analytics", "--home", home, "--prefix", "CCT_"]);
    expect(readdirSync(home).sort()).toEqual(["providers.toml", "session-analytics.json"]);
    expect(readFileSync(join(home, "session-analytics.json"), "utf8")).toContain(
      "CCT_SA_JUDGE_API_KEY",
    );
  });
});

describe("serving harness reference", () => {
  it("writes the reference once, and then finds nothing to do", async () => {
    const out = join(folder(), "reference");
    const first = await runServing(["harness", "reference", "--out", out, "--format", "json"]);
    expect(json(first.out).written).toContain(join(out, "providers-profile.md"));
    expect(
      json((await runServing(["harness", "reference", "--out", out, "--format", "json"])).out)
        .written,
    ).toEqual([]);
    expect((await runServing(["harness", "reference", "--out", out, "--check"])).code).toBe(0);
  });

  it("names what is stale or missing with --check, and writes nothing", async () => {
    const out = join(folder(), "reference");
    await runServing(["harness", "reference", "--out", out]);
    const page = join(out, "providers-profile.md");
    writeFileSync(page, "edited");
    const run = await runServing([
      "harness",
      "reference",
      "--out",
      out,
      "--check",
      "--format",
      "json",
    ]);
    expect(run.code).toBe(1);
    expect(json(run.out)).toEqual({ version: 1, stale: [page] });
    expect(readFileSync(page, "utf8")).toBe("edited");
    mkdirSync(join(out, "empty"));
    const missing = await runServing([
      "harness",
      "reference",
      "--out",
      join(out, "empty"),
      "--check",
    ]);
    expect(missing.code).toBe(1);
    expect(missing.out).toContain("Write it again: serving harness reference");
  });
});
