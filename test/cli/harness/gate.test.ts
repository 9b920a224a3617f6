import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { runServing } from "../runServing";

function config(value: unknown): { project: string; file: string } {
  const project = temporaryFolder("gate-command-");
  const file = join(project, "a.json");
  writeFileSync(file, typeof value === "string" ? value : JSON.stringify(value));
  return { project, file };
}

const coverage = {
  command: "true",
  artifact: "c.json",
  parser: "jacoco",
  baseline: "none",
  min_line_pct: 1,
};

test("a gate that needs a baseline names the whole command that captures one", async () => {
  const brownfield = { ...coverage, parser: "lcov", baseline: "admission", max_regression_pct: 1 };
  const { project, file } = config({ verification: { coverage: brownfield } });
  const gate = ["harness", "gate", "coverage", "--config", file, "--project", project];
  const { code, out } = await runServing(gate);
  expect(code).toBe(1);
  expect(out).toContain(
    `serving harness freeze automation ${file} --out contract.json --project ${project}\``,
  );
});

describe.each(["coverage", "visual"])("serving harness gate %s", (gate) => {
  test("a faulty config fails it: exit 1, the verdict on stdout as one document, nothing run", async () => {
    const { project, file } = config({ verification: { coverage } });
    const args = ["harness", "gate", gate, "--config", file, "--project", project];
    const json = await runServing([...args, "--format", "json"]);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({
      gate,
      verdict: "fail",
      failures: [
        expect.stringMatching(
          /a\.json:1:\d+ verification\.coverage\.parser: Parser `jacoco` is not/,
        ),
      ],
      issues: [{ path: "verification.coverage.parser", code: "not_implemented" }],
    });
    const text = await runServing(args);
    expect([text.code, text.out]).toEqual([1, ""]);
    expect(text.err).toContain("verification.coverage.parser: Parser `jacoco` is not implemented");
    expect(readdirSync(project)).toEqual(["a.json"]);
  });

  test.each([
    ["nothing to judge by", () => [], "exactly one of --config FILE and --contract FILE"],
    [
      "both files",
      () => ["--config", "a", "--contract", "b"],
      "exactly one of --config FILE and --contract FILE",
    ],
    ["a config without its block", () => ["--config", config({}).file], `verification.${gate}`],
    ["no such file", () => ["--config", "/no/such/file"], "/no/such/file: no such file"],
    ["a contract that is none", () => ["--contract", config("{}").file], "isn't a frozen contract"],
  ])("%s: exit 2, said on stderr and as a fault", async (_, args, message) => {
    const run = await runServing(["harness", "gate", gate, ...args(), "--format", "json"]);
    expect(run.code).toBe(2);
    expect(run.err).toContain(message);
    const { faults } = JSON.parse(run.out) as { faults: readonly { code: string }[] };
    const isRead = message.startsWith("exactly") || message.startsWith("verification");
    expect(faults.map(({ code }) => code)).toEqual([isRead ? "wrong_use" : "unreadable"]);
    expect((await runServing(["harness", "gate", gate, ...args()])).out).toBe("");
  });
});
