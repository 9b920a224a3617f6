import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bundledHarness } from "../../../../test/cli/harness/bundledServing";
import { freePort } from "../../../../test/layers/freePort";
import { temporaryFolder } from "../../../../test/layers/temporaryFolder";
import { eventually, killTogether, processesWith, start } from "../processes";

const SERVER = join(__dirname, "../fixtures/app/server.cjs");
interface Scene {
  readonly directory: string;
  readonly marker: string;
  readonly temporary: string;
}

/**
 * A git repository whose config has an app and a visual check, and a directory for temporary files
 * of its own.
 */
async function scene(command: string, change: Record<string, unknown> = {}): Promise<Scene> {
  const directory = temporaryFolder("visual-gate-");
  const temporary = temporaryFolder("visual-temporary-");
  const port = await freePort();
  const marker = `visual-${port}-${Date.now()}`;
  const url = `http://127.0.0.1:${port}/`;
  const verification = {
    app: {
      command: `exec node ${SERVER} ${marker} ${port}`,
      stop_timeout_sec: 1,
      ready: { url, timeout_sec: 8 },
    },
    visual: {
      command: command.replace("MARKER", marker),
      artifact: "out/verdict.json",
      url,
      timeout_sec: 5,
      ...change,
    },
  };
  writeFileSync(join(directory, "automation.json"), JSON.stringify({ verification }));
  writeFileSync(join(directory, "tracked.txt"), "committed");
  writeFileSync(join(directory, ".gitignore"), "ignored.txt\n.hx\n");
  const git = (...args: string[]) => execFileSync("git", args, { cwd: directory, stdio: "pipe" });
  git("init", "-q");
  git("config", "user.email", "test@example.invalid");
  git("config", "user.name", "Test");
  git("add", ".");
  git("commit", "-qm", "First");
  writeFileSync(join(directory, "tracked.txt"), "changed since");
  writeFileSync(join(directory, "ignored.txt"), "ignored");
  writeFileSync(join(directory, ".git/hooks/post-checkout"), "#!/bin/sh\nexit 1\n", {
    mode: 0o755,
  });
  return { directory, marker, temporary };
}

function gate({ directory, temporary }: Scene) {
  const env = { ...process.env, TMPDIR: temporary, GIT_DIR: "/nowhere" };
  return start(
    "node",
    [bundledHarness(), "gate", "visual", "--config", "automation.json", "--format", "json"],
    directory,
    env,
  );
}

function worktrees({ directory }: Scene): number {
  const list = execFileSync("git", ["worktree", "list", "--porcelain"], {
    cwd: directory,
    encoding: "utf8",
  });
  return list.split("\n").filter((line) => line.startsWith("worktree ")).length;
}

const PASS = `mkdir -p out && echo '{"passed": true, "mode": "full"}' > out/verdict.json`;

describe.concurrent("visual gate", () => {
  test("runs against the app in a detached checkout of HEAD without ignored files, which is removed", async () => {
    const place = await scene(
      `cat tracked.txt; ls -A; git rev-parse --abbrev-ref HEAD; wget -qO- $HX_VISUAL_URL || curl -s $HX_VISUAL_URL; ${PASS}`,
    );
    const finished = await gate(place).finished;
    const result = JSON.parse(finished.stdout);
    expect(result.failures).toEqual([]);
    expect(result.verdict).toBe("pass");
    expect(finished.code).toBe(0);
    const head = execFileSync("git", ["rev-parse", "HEAD"], {
      cwd: place.directory,
      encoding: "utf8",
    }).trim();
    expect(result.commit).toBe(head);
    const log = readFileSync(join(place.directory, ".hx/ledger/visual.log"), "utf8");
    expect(log).toContain("committed");
    expect(log).not.toContain("ignored.txt");
    expect(log).toContain("\nHEAD\n");
    expect(log).toContain("ok");
    expect(
      JSON.parse(readFileSync(join(place.directory, ".hx/ledger/visual-result.json"), "utf8"))
        .passed,
    ).toBe(true);
    expect(existsSync(join(place.directory, "out"))).toBe(false);
    expect(worktrees(place)).toBe(1);
    expect(readdirSync(place.temporary)).toEqual([]);
    expect(processesWith(place.marker)).toEqual([]);
  });

  test.each([
    [
      "a degraded result",
      `mkdir out; echo '{"passed":true,"mode":"degraded","skipped":["x"]}' > out/verdict.json`,
      {},
      "the check did not run in full",
    ],
    [
      "a result without a mode",
      `mkdir out; echo '{"passed":true}' > out/verdict.json`,
      {},
      "it names no mode",
    ],
    ["a failed command", `${PASS}; exit 2`, {}, "the visual command exited 2"],
    [
      "a command that takes too long",
      "sleep 60 # MARKER",
      { timeout_sec: 1 },
      "the visual command took longer than 1 s",
    ],
    ["no artifact", "true", {}, "the command wrote no artifact at out/verdict.json"],
    [
      "read-only leftovers",
      "mkdir -p a/b && touch a/b/c && chmod 555 a/b; exit 1",
      {},
      "the visual command exited 1",
    ],
    [
      "a file that isn't committed",
      "test -e tracked.txt && cat ./ignored.txt",
      {},
      "it ran in a checkout of HEAD, which lacks ./ignored.txt: commit that first",
    ],
    ["a checkout cut from its repository", "rm -f .git; exit 1", {}, "the visual command exited 1"],
  ])("%s fails, and the checkout is removed", async (_, command, change, message) => {
    const place = await scene(command, change);
    const finished = await gate(place).finished;
    const result = JSON.parse(finished.stdout);
    expect(finished.code).toBe(1);
    expect(result.failures.join()).toContain(message);
    expect(worktrees(place)).toBe(1);
    expect(readdirSync(place.temporary)).toEqual([]);
    expect(processesWith(place.marker)).toEqual([]);
  });

  test("a degraded result lands when skip_is_failure is false", async () => {
    const command = `mkdir out; echo '{"passed":true,"mode":"degraded","skipped":["x"]}' > out/verdict.json`;
    const finished = await gate(await scene(command, { skip_is_failure: false })).finished;
    expect(JSON.parse(finished.stdout).verdict).toBe("pass");
  });

  test("outside a repository there is nothing to check out", async () => {
    const place = await scene(PASS);
    execFileSync("rm", ["-rf", join(place.directory, ".git")]);
    const finished = await gate(place).finished;
    expect(JSON.parse(finished.stdout).failures.join()).toContain("has no commit HEAD");
    expect(processesWith(place.marker)).toEqual([]);
  });

  test("killed by SIGKILL while the check runs: no process and no checkout is left", async () => {
    const place = await scene("sh -c 'sleep 60; : MARKER checks'");
    const { child, finished } = gate(place);
    await eventually(() => processesWith(`${place.marker} checks`).length > 0, "the check runs");
    expect(worktrees(place)).toBe(2);
    child.kill("SIGKILL");
    await finished;
    await eventually(() => processesWith(place.marker).length === 0, "no process is left");
    await eventually(() => readdirSync(place.temporary).length === 0, "no checkout is left");
    await eventually(() => worktrees(place) === 1, "git knows of no other worktree");
  });

  test("killed together with its supervisors while the check runs: the next gate clears all of it", async () => {
    const place = await scene("sh -c 'sleep 60; : MARKER checks'");
    const { child } = gate(place);
    await eventually(() => processesWith(`${place.marker} checks`).length > 0, "the check runs");
    const gone = new Promise((resolve) => child.once("exit", resolve));
    killTogether(child.pid ?? 0);
    await gone;
    expect(worktrees(place)).toBe(2);
    execFileSync("git", ["commit", "-q", "--allow-empty", "-m", "next"], { cwd: place.directory });
    const next = gate(place);
    await eventually(
      () => processesWith(`${place.marker} checks`).length === 0,
      "the first check is ended",
    );
    await eventually(
      () => processesWith(`${place.marker} checks`).length > 0,
      "the next check runs",
    );
    expect(readdirSync(place.temporary)).toHaveLength(1);
    expect(worktrees(place)).toBe(2);
    next.child.kill("SIGTERM");
    await next.finished;
    expect(processesWith(place.marker)).toEqual([]);
    expect(readdirSync(place.temporary)).toEqual([]);
    expect(worktrees(place)).toBe(1);
  });

  test.each([300, 700, 1200])(
    "killed by SIGKILL after %i ms: no process and no checkout is left",
    async (delay) => {
      const place = await scene("sleep 60 # MARKER");
      const { child, finished } = gate(place);
      await new Promise((resolve) => setTimeout(resolve, delay));
      child.kill("SIGKILL");
      await finished;
      await new Promise((resolve) => setTimeout(resolve, 300));
      await eventually(() => processesWith(place.marker).length === 0, "no process is left");
      await eventually(() => readdirSync(place.temporary).length === 0, "no checkout is left");
      await eventually(() => worktrees(place) === 1, "git knows of no other worktree");
    },
  );
});
