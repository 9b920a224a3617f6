import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { referenceFor, template } from "@local-serving/harness/templates/template";
import { describe, expect, test } from "vitest";
import { start } from "../../../packages/harness/test/processes";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { runServing } from "../runServing";
import { bundledHarness } from "./bundledServing";

const run = (directory: string, ...args: string[]) =>
  start("node", [bundledHarness(), "harness", ...args], directory).finished;
const directoryWith = (name: string, text: string) => {
  const directory = temporaryFolder("config-command-");
  writeFileSync(join(directory, name), text);
  return directory;
};

describe("serving harness check automation", () => {
  test("a valid config: exit 0, and json is one document with nothing beside it", async () => {
    const { code, stdout, stderr } = await run(
      directoryWith("a.yaml", "{}"),
      "check",
      "automation",
      "a.yaml",
      "--format",
      "json",
    );
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({
      valid: true,
      issues: [],
      resolved: { review: { max_rounds: 5 } },
    });
  });
  test.each([
    [{}, "", 4],
    [{ HX_REVIEW_MAX_ROUNDS: "2" }, " (from HX_REVIEW_MAX_ROUNDS)", 2],
  ])("prints the resolved limits of the review loop (with %j)", async (env, source, rounds) => {
    const file = join(directoryWith("a.yaml", "review:\n  max_rounds: 4\n"), "a.yaml");
    const check = ["harness", "check", "automation", file];
    expect((await runServing(check, env)).out).toBe(
      `review: at most ${rounds} rounds per attempt${source}, 900 s for all rounds together\n${file}: valid; not checked: what the requirements need (--mapping)\n`,
    );
    const json = await runServing([...check, "--format", "json"], env);
    expect(JSON.parse(json.out).resolved.review).toEqual({
      max_rounds: rounds,
      loop_timeout_sec: 900,
    });
  });
  test("faults: exit 1, in the fixed shape, and as lines a person can click", async () => {
    const directory = directoryWith("a.yaml", "review:\n  max_round: 3\n");
    const json = await run(directory, "check", "automation", "a.yaml", "--format", "json");
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toEqual({
      version: 1,
      valid: false,
      issues: [
        {
          path: "review.max_round",
          code: "unknown_key",
          message: "Unknown key `max_round`. Did you mean `max_rounds`?",
          severity: "error",
          line: 2,
          column: 3,
        },
      ],
      resolved: null,
    });
    const text = await run(directory, "check", "automation", "a.yaml");
    expect(text.stdout).toBe(
      "error: a.yaml:2:3 review.max_round: Unknown key `max_round`. Did you mean `max_rounds`?\na.yaml: 1 fault\n",
    );
  });
  test.each([
    ["no YAML", "a: [", "not valid YAML"],
    ["duplicate keys", "caps: {}\ncaps: {}\n", "is given twice in one map"],
    ["empty", "", "the file is empty"],
  ])("%s: exit 2, and json still is a document that says where", async (_, text, message) => {
    const { code, stdout, stderr } = await run(
      directoryWith("a.yaml", text),
      "check",
      "automation",
      "a.yaml",
      "--format",
      "json",
    );
    expect([code, stderr]).toEqual([2, ""]);
    const { valid, issues } = JSON.parse(stdout);
    expect([valid, issues.length]).toEqual([false, 1]);
    expect(issues[0].message).toContain(message);
  });
  test("a missing file beside it is named", async () => {
    const { code, stdout } = await run(
      directoryWith("a.yaml", "{}"),
      "check",
      "automation",
      "a.yaml",
      "--mapping",
      "absent.yaml",
    );
    expect(code).toBe(2);
    expect(stdout).toContain("absent.yaml: no such file");
  });
  test("wrong use: exit 2 with a hint", async () => {
    const { code, stderr } = await run(tmpdir(), "check", "automation");
    expect(code).toBe(2);
    expect(stderr).toContain("--help");
  });
});

describe("serving harness init automation", () => {
  test.each([
    ["automation", "automation-config.schema.json"],
    ["providers", "providers-profile.md"],
    ["analytics", "session-analytics.md"],
  ] as const)("names a reference of %s that is there", (name, page) => {
    const file = join(temporaryFolder("config-reference-"), "file");
    const text = template(name, "HX_", referenceFor(file));
    const [named = ""] = text.match(new RegExp(`[\\w./-]+/docs/reference/${page}`)) ?? [];
    expect(existsSync(resolve(file, "..", named))).toBe(true);
    expect(text.startsWith(`# yaml-language-server: $schema=${named}\n`)).toBe(
      name === "automation",
    );
  });

  test("names it by a relative path where the package is in the file's project", () => {
    const project = resolve(__dirname, "../../..");
    expect(referenceFor(join(project, "a/b.yaml"), project)).toBe("../docs/reference");
    expect(referenceFor("/elsewhere/b.yaml", project)).toBe(join(project, "docs/reference"));
  });

  test("says what each block resolves to, and what no option was given for", async () => {
    const fixtures = resolve("packages/harness/test/fixtures/automation");
    const file = join(fixtures, "automation.yaml");
    const check = ["harness", "check", "automation", file, "--presets", join(fixtures, "presets")];
    const { out } = await runServing(check);
    const lines = out.trimEnd().split("\n");
    expect(lines.map((line) => line.slice(0, line.indexOf(":")))).toEqual([
      "review",
      "coverage",
      "app",
      "conformance",
      "visual",
      "routing",
      "caps",
      "unattended",
      file,
    ]);
    expect(lines[1]).toContain("branches at least 75 %");
    expect(lines[1]).toContain("(with preset web-app)");
    expect(lines.at(-1)).toBe(
      `${file}: valid; not checked: evaluator (--providers), routing's names (--registry), what the requirements need (--mapping)`,
    );
    const given = ["--providers", "--registry", "--mapping"].flatMap((option, at) => [
      option,
      join(fixtures, ["providers.toml", "routing.toml", "verification.yaml"][at] ?? ""),
    ]);
    expect((await runServing([...check, ...given])).out).toContain(`${file}: valid\n`);
  });

  test("is named where a config is missing", async () => {
    const { code, out } = await runServing(["harness", "check", "automation", "/no/a.yaml"]);
    expect(code).toBe(2);
    expect(out).toBe("/no/a.yaml: no such file. `serving harness init automation` writes one\n");
  });

  test("writes a template that is valid, and never replaces a file", async () => {
    const directory = temporaryFolder("config-init-");
    expect((await run(directory, "init", "automation")).code).toBe(0);
    expect((await run(directory, "check", "automation", "automation.yaml")).code).toBe(0);
    writeFileSync(join(directory, "automation.yaml"), "mine");
    const again = await run(directory, "init", "automation");
    expect([again.code, again.stdout]).toEqual([
      1,
      "automation.yaml exists already and stays as it is; name another file\n",
    ]);
    expect(readFileSync(join(directory, "automation.yaml"), "utf8")).toBe("mine");
    expect(readdirSync(directory)).toEqual(["automation.yaml"]);
  });
});

test("a place that can't be written is reported without a stack trace", async () => {
  const { code, stderr } = await run(
    directoryWith("a.yaml", ""),
    "init",
    "automation",
    "a.yaml/b.yaml",
  );
  expect(code).toBe(2);
  expect(stderr).toContain("a.yaml/b.yaml can't be written");
  expect(stderr).not.toContain("    at ");
});

test.each(
  [["check"], ["init"], ["freeze"]]
    .map(([verb]) => [`harness ${verb} automation`])
    .concat([["harness app run"], ["harness gate coverage"], ["harness gate visual"]]),
)("serving %s --help has an example", async (words) => {
  const { code, stdout } = await start(
    "node",
    [bundledHarness(), ...words.split(" "), "--help"],
    tmpdir(),
  ).finished;
  expect(code).toBe(0);
  expect(stdout).toContain(`Example:\n  serving ${words}`);
  expect(stdout).toContain("--format <format>");
});
