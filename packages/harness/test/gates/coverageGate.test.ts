import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/layers/temporaryFolder";
import { commandEnvironment } from "../../app/commandEnvironment";
import { openLedger } from "../../app/ledger";
import { coverageGate, findHostTimeout } from "../../gates/coverageGate";
import { processesWith } from "../processes";

type Contract = Parameters<typeof coverageGate>[0]["coverage"];

function project(): string {
  const root = temporaryFolder("coverage-gate-");
  writeFileSync(
    join(root, "good.json"),
    JSON.stringify({ total: { lines: { pct: 85 }, branches: { pct: 75 } } }),
  );
  return root;
}

const contract = (change: Partial<Contract>): Contract => ({
  command: "mkdir -p coverage && cp good.json coverage/summary.json",
  artifact: "coverage/summary.json",
  parser: "istanbul",
  baseline: "none",
  min_line_pct: 80,
  floor_enforced_at: "landing",
  timeout_sec: 10,
  preset_sha256: null,
  ...change,
});

function gate(root: string, change: Partial<Contract> = {}, extra: object = {}) {
  const setting = {
    coverage: contract(change),
    root,
    env: commandEnvironment(process.env),
    ledger: openLedger(join(root, ".ledger")),
    interrupt: new AbortController().signal,
    ...extra,
  };
  return coverageGate({ ...setting, freezing: "serving freeze" }, null);
}

describe.concurrent("coverage gate", () => {
  test("a fresh artifact above its floors passes, and the ledger has the output", async () => {
    const root = project();
    const result = await gate(root, {
      command: "echo measuring; mkdir coverage && cp good.json coverage/summary.json",
    });
    expect(result).toEqual({
      verdict: "pass",
      failures: [],
      judged: ["line coverage 85 %, floor 80 %"],
      measured: { line_pct: 85, branch_pct: 75 },
      baseline: null,
    });
    expect(readFileSync(join(root, ".ledger/coverage.log"), "utf8")).toBe("measuring\n");
  });

  test("an artifact below its floor fails", async () => {
    expect((await gate(project(), { min_line_pct: 86 })).failures).toEqual([
      "line coverage is 85 %, below its floor of 86 %",
    ]);
  });

  test("a stale artifact is deleted, so a command that writes none fails", async () => {
    const root = project();
    mkdirSync(join(root, "coverage"));
    writeFileSync(join(root, "coverage/summary.json"), readFileSync(join(root, "good.json")));
    expect((await gate(root, { command: "true" })).failures).toEqual([
      "the command wrote no artifact at coverage/summary.json",
    ]);
    expect(existsSync(join(root, "coverage/summary.json"))).toBe(false);
  });

  test("an old file put in the artifact's place is not newly produced", async () => {
    const result = await gate(project(), {
      command:
        "mkdir coverage && cp good.json coverage/summary.json && touch -d '2020-01-01' coverage/summary.json",
    });
    expect(result.failures).toEqual([
      "artifact coverage/summary.json is older than this run, so the run did not produce it",
    ]);
  });

  test.each([
    [
      "a directory",
      "mkdir -p coverage/summary.json",
      "after the command, artifact coverage/summary.json is a directory; it must be a file",
    ],
    [
      "a pipe",
      "mkdir coverage && mkfifo coverage/summary.json",
      "what the command left at coverage/summary.json isn't a regular file",
    ],
    [
      "a symlink",
      "mkdir coverage && ln -s ../good.json coverage/summary.json",
      "after the command, artifact coverage/summary.json is a symlink itself; it must be a regular file",
    ],
    [
      "a directory that became a way out",
      "ln -s / coverage",
      "after the command, artifact coverage/summary.json leads out of the project through a symlink",
    ],
    [
      "not what its parser reads",
      "mkdir coverage && echo x > coverage/summary.json",
      "artifact coverage/summary.json is not JSON; istanbul's `json-summary` reporter writes coverage-summary.json",
    ],
  ])("a command that leaves %s fails", async (_, command, message) => {
    expect((await gate(project(), { command })).failures).toEqual([message]);
  });

  test("a directory in the artifact's place that is a symlink out of the project: nothing outside is deleted", async () => {
    const root = project();
    const outside = temporaryFolder("outside-");
    writeFileSync(join(outside, "summary.json"), "precious");
    symlinkSync(outside, join(root, "coverage"));
    expect((await gate(root)).failures).toEqual([
      "artifact coverage/summary.json leads out of the project through a symlink",
    ]);
    expect(readFileSync(join(outside, "summary.json"), "utf8")).toBe("precious");
  });

  test("an artifact that can't be removed leaves freshness unproven", async () => {
    const root = project();
    mkdirSync(join(root, "coverage/summary.json"), { recursive: true });
    expect((await gate(root)).failures).toEqual([
      "artifact coverage/summary.json is a directory; it must be a file",
    ]);
  });

  test("a command that fails fails the gate, whatever it wrote", async () => {
    const root = project();
    const result = await gate(root, {
      command: "mkdir coverage; cp good.json coverage/summary.json; exit 4",
    });
    expect(result.failures[0]).toContain("the coverage command exited 4; its output is in ");
    expect(result.measured).toBe(null);
  });

  test("a command beyond timeout_sec is ended with everything that it started, TERM ignored or not", async () => {
    const marker = `coverage-marker-${process.pid}`;
    const command = `sh -c "trap '' TERM; sleep 60; : ${marker}" & sleep 60; : ${marker}`;
    const result = await gate(project(), { command, timeout_sec: 0.5 });
    expect(result.failures[0]).toContain("the coverage command took longer than 0.5 s");
    expect(processesWith(marker)).toEqual([]);
  });

  test("what a finished command leaves running is ended before its artifact is read", async () => {
    const marker = `leftover-marker-${process.pid}`;
    const command = `mkdir coverage; cp good.json coverage/summary.json; sh -c "sleep 60; : ${marker}" & true`;
    expect((await gate(project(), { command })).verdict).toBe("pass");
    expect(processesWith(marker)).toEqual([]);
  });

  test("a host without a timeout mechanism refuses, and runs nothing", async () => {
    const root = project();
    const result = await gate(root, { command: "touch ran" }, { env: {} });
    expect(result.failures[0]).toContain("this host has no timeout mechanism");
    expect(existsSync(join(root, "ran"))).toBe(false);
  });

  test("baseline `admission` without a captured baseline is refused", async () => {
    const result = await gate(project(), { baseline: "admission", max_regression_pct: 1 });
    expect(result.failures[0]).toContain(
      "needs a captured baseline: freeze the contract first with `serving freeze`, then give `--contract contract.json`",
    );
  });
});

test("the host's timeout mechanism is found in PATH, as `timeout` or `gtimeout`, when it can be executed", () => {
  const directory = temporaryFolder("path-");
  expect(findHostTimeout(directory)).toBe(undefined);
  writeFileSync(join(directory, "gtimeout"), "");
  expect(findHostTimeout(directory)).toBe(undefined);
  chmodSync(join(directory, "gtimeout"), 0o755);
  expect(findHostTimeout(`/nowhere:${directory}`)).toBe(join(directory, "gtimeout"));
  expect(findHostTimeout("")).toBe(undefined);
});
