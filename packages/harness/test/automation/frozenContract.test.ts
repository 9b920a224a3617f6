import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bundledHarness } from "../../../../test/cli/harness/bundledServing";
import { temporaryFolder } from "../../../../test/layers/temporaryFolder";
import { readFrozen, writeFrozen } from "../../automation/frozenContract";
import { eventually, processesWith, start } from "../processes";
import { checkConfig, directoryWith, wholeConfig } from "./scene";

function frozen() {
  const { resolved } = checkConfig(wholeConfig());
  if (resolved === null) throw new Error("the whole config is valid");
  return { contract: resolved, baseline: null, frozen_at: "2026-01-02T03:04:05.000Z" };
}

describe("a frozen contract", () => {
  test("is read as it was written, with the digest that the writer named", () => {
    const file = join(directoryWith({}), "contract.json");
    const sha256 = writeFrozen(file, frozen());
    expect(sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.parse(readFileSync(file, "utf8")).sha256).toBe(sha256);
    expect(readFrozen(file)).toMatchObject(frozen());
  });
  test("is written once: a second one is refused, and the first stays", () => {
    const directory = directoryWith({});
    const file = join(directory, "contract.json");
    writeFrozen(file, frozen());
    const before = readFileSync(file);
    expect(writeFrozen(file, { ...frozen(), frozen_at: "later" })).toBe(undefined);
    expect(readFileSync(file)).toEqual(before);
    expect(readdirSync(directory)).toEqual(["contract.json"]);
  });
  test("never follows a link in its place", () => {
    const directory = directoryWith({ other: "kept" });
    symlinkSync(join(directory, "other"), join(directory, "contract.json"));
    expect(writeFrozen(join(directory, "contract.json"), frozen())).toBe(undefined);
    expect(readFileSync(join(directory, "other"), "utf8")).toBe("kept");
  });
  test("changed by hand, it is refused; laid out anew, it is not", () => {
    const file = join(directoryWith({}), "contract.json");
    writeFrozen(file, frozen());
    const text = readFileSync(file, "utf8");
    writeFileSync(file, JSON.stringify(JSON.parse(text)));
    expect(readFrozen(file).frozen_at).toBe(frozen().frozen_at);
    for (const [from, to] of [
      ['"min_line_pct": 80', '"min_line_pct": 8'],
      ['"stop_timeout_sec": 10', '"stop_timeout_sec": 1'],
      ['"baseline": null', '"baseline": {"commit": "c0ffee", "line_pct": 1}'],
      ['"frozen_at": "2026', '"frozen_at": "2025'],
    ] as const) {
      expect(text).toContain(from);
      writeFileSync(file, text.replace(from, to));
      expect(() => readFrozen(file)).toThrow("was changed after it was frozen");
    }
  });
  test.each([
    ["an automation config", JSON.stringify(wholeConfig())],
    ["no JSON", "review: {}"],
    ["cut off", '{"format": "automation-contract"'],
    [
      "another version",
      '{"format":"automation-contract","version":2,"frozen_at":"","contract":{},"baseline":null,"sha256":""}',
    ],
    [
      "100,000 levels deep",
      `{"format":"automation-contract","version":1,"frozen_at":"","contract":{"verification":{},"review":{},"build":${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}},"baseline":null,"sha256":""}`,
    ],
  ])("%s isn't a frozen contract", (_, text) => {
    expect(() => readFrozen(join(directoryWith({ x: text }), "x"))).toThrow(
      "isn't a frozen contract",
    );
  });
});

describe("serving harness freeze automation", () => {
  const freeze = (directory: string, args: string[] = [], env = process.env) =>
    start(
      "node",
      [
        bundledHarness(),
        "config",
        "freeze",
        "automation",
        "a.json",
        "--out",
        "contract.json",
        "--format",
        "json",
        ...args,
      ],
      directory,
      env,
    );

  test("writes the resolved contract; a second time it refuses; the gate reads it and resolves nothing again", async () => {
    const { coverage } = wholeConfig().verification as { coverage: object };
    const config = {
      verification: {
        coverage: {
          ...coverage,
          command: "cp good.json out.json",
          artifact: "out.json",
          preset: "p",
        },
      },
    };
    const directory = directoryWith({
      "a.json": config,
      "presets/p.json": { min_branch_pct: 60 },
      "good.json": { total: { lines: { pct: 80 }, branches: { pct: 61 } } },
    });
    const first = await freeze(directory, ["--presets", "presets"]).finished;
    expect(first.code).toBe(0);
    expect(JSON.parse(first.stdout)).toMatchObject({
      frozen: true,
      file: "contract.json",
      baseline: null,
    });
    const second = await freeze(directory, ["--presets", "presets"]).finished;
    expect(second.code).toBe(1);
    expect(JSON.parse(second.stdout).fault).toContain(
      "contract.json exists, and a contract is frozen once",
    );
    // A later change of config, preset and variable moves nothing.
    writeFileSync(join(directory, "a.json"), "{}");
    writeFileSync(join(directory, "presets/p.json"), JSON.stringify({ min_branch_pct: 99 }));
    const gate = await start(
      "node",
      [bundledHarness(), "gate", "coverage", "--contract", "contract.json", "--format", "json"],
      directory,
      {
        ...process.env,
        HX_REVIEW_MAX_ROUNDS: "0",
      },
    ).finished;
    expect(JSON.parse(gate.stdout)).toMatchObject({
      verdict: "pass",
      measured: { line_pct: 80, branch_pct: 61 },
    });
    expect(gate.code).toBe(0);
  });

  test("a faulty config is not frozen", async () => {
    const directory = directoryWith({ "a.json": { extra: 1 } });
    const { code, stdout } = await freeze(directory).finished;
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ frozen: false, valid: false });
    expect(existsSync(join(directory, "contract.json"))).toBe(false);
  });

  test("a host without a timeout mechanism refuses a coverage-enabled run, and only that", async () => {
    const bare = temporaryFolder("bare-path-");
    symlinkSync(process.execPath, join(bare, "node"));
    const env = { ...process.env, PATH: bare };
    const { verification, ...rest } = wholeConfig();
    const directory = directoryWith({ "a.json": { ...rest, verification } });
    const refused = await freeze(directory, [], env).finished;
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.stdout).fault).toContain("this host has no timeout mechanism");
    expect(existsSync(join(directory, "contract.json"))).toBe(false);
    const other = directoryWith({ "a.json": rest });
    expect((await freeze(other, [], env).finished).code).toBe(0);
  });

  test("a place that can't be written is reported without a stack trace", async () => {
    const directory = directoryWith({ "a.json": {} });
    const args = [
      bundledHarness(),
      "config",
      "freeze",
      "automation",
      "a.json",
      "--out",
      "a.json/contract.json",
    ];
    const { code, stderr } = await start("node", args, directory).finished;
    expect(code).toBe(2);
    expect(stderr).toContain("a.json/contract.json can't be written");
    expect(stderr).not.toContain("    at ");
  });

  /** A repository whose first commit covers 90 % of lines and whose working tree says 50. */
  function repository(command: string): string {
    const directory = directoryWith({
      "a.json": {
        verification: {
          coverage: {
            command,
            artifact: "out.json",
            parser: "istanbul",
            baseline: "admission",
            min_line_pct: 40,
            max_regression_pct: 5,
          },
        },
      },
      "good.json": { total: { lines: { pct: 90 } } },
    });
    const git = (...args: string[]) => execFileSync("git", args, { cwd: directory, stdio: "pipe" });
    git("init", "-q");
    git("add", ".");
    git("-c", "user.email=t@example.invalid", "-c", "user.name=T", "commit", "-qm", "First");
    writeFileSync(join(directory, "good.json"), JSON.stringify({ total: { lines: { pct: 50 } } }));
    return directory;
  }

  test("baseline `admission` captures the base commit, and the gate judges regression against it", async () => {
    const directory = repository("cp good.json out.json");
    const { code, stdout } = await freeze(directory).finished;
    expect(code).toBe(0);
    const head = execFileSync("git", ["rev-parse", "HEAD"], {
      cwd: directory,
      encoding: "utf8",
    }).trim();
    expect(JSON.parse(stdout).baseline).toEqual({ commit: head, line_pct: 90, branch_pct: null });
    expect(
      execFileSync("git", ["worktree", "list"], { cwd: directory, encoding: "utf8" })
        .trim()
        .split("\n"),
    ).toHaveLength(1);
    const gate = await start(
      "node",
      [bundledHarness(), "gate", "coverage", "--contract", "contract.json", "--format", "json"],
      directory,
    ).finished;
    expect(gate.code).toBe(1);
    expect(JSON.parse(gate.stdout).failures).toEqual([
      "line coverage fell by 40 percentage points, from 90 % to 50 %; 5 are allowed",
    ]);
  });

  test("a base that can't be measured is not frozen", async () => {
    const directory = repository("exit 3");
    const { code, stdout } = await freeze(directory).finished;
    expect(code).toBe(1);
    expect(JSON.parse(stdout).fault).toContain("can't be measured: the coverage command exited 3");
    expect(existsSync(join(directory, "contract.json"))).toBe(false);
  });

  test("killed by SIGKILL while the base is measured: nothing is frozen, nothing is left, and it can be frozen again", async () => {
    const marker = `freeze-marker-${process.pid}`;
    const directory = repository(
      `test -e ${join(tmpdir(), marker)} || sleep 60; cp good.json out.json; : ${marker}`,
    );
    const { child, finished } = freeze(directory);
    await eventually(() => processesWith(marker).length > 0, "the base is measured");
    child.kill("SIGKILL");
    await finished;
    await eventually(() => processesWith(marker).length === 0, "no process is left");
    const list = () =>
      execFileSync("git", ["worktree", "list"], { cwd: directory, encoding: "utf8" })
        .trim()
        .split("\n");
    await eventually(() => list().length === 1, "no worktree is left");
    expect(existsSync(join(directory, "contract.json"))).toBe(false);
    writeFileSync(join(tmpdir(), marker), "");
    expect((await freeze(directory).finished).code).toBe(0);
    expect(readFrozen(join(directory, "contract.json")).baseline?.line_pct).toBe(90);
  });

  test("killed by SIGKILL at any moment: the contract is whole or absent", async () => {
    const directory = directoryWith({ "a.json": {} });
    for (const delay of [60, 90, 120, 150, 180]) {
      const { child, finished } = freeze(directory);
      await new Promise((resolve) => setTimeout(resolve, delay));
      child.kill("SIGKILL");
      await finished;
      if (existsSync(join(directory, "contract.json")))
        expect(readFrozen(join(directory, "contract.json")).baseline).toBe(null);
    }
    const last = await freeze(directory).finished;
    expect([0, 1]).toContain(last.code);
    expect(readFrozen(join(directory, "contract.json")).baseline).toBe(null);
  });
});
