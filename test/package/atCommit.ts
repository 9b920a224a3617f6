import { spawnSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe } from "vitest";
import { mustRun } from "../layers/run";
import { temporaryFolder } from "../layers/temporaryFolder";

const PROJECT = resolve(__dirname, "../..");

/**
 * A clone of this project at an earlier commit, with the packages of this checkout: those that run
 * are the same since then.
 */
export async function cloneAt(commit: string): Promise<string> {
  const clone = join(temporaryFolder("clone-"), "local-serving");
  await mustRun("git", ["clone", "--quiet", "--shared", "--no-checkout", PROJECT, clone]);
  await mustRun("git", ["checkout", "--quiet", "--detach", commit], { cwd: clone });
  symlinkSync(join(PROJECT, "node_modules"), join(clone, "node_modules"));
  return clone;
}

/** Declares tests that need earlier commits. Without them they are skipped, with the reason. */
export function describeWithHistory(
  name: string,
  declare: (name: string, tests: () => void) => void,
  tests: () => void,
): void {
  const missing = historyMissing();
  if (missing === undefined) declare(name, tests);
  else describe.skip(`${name} (skipped: ${missing})`, tests);
}

function historyMissing(): string | undefined {
  const git = ["-C", PROJECT, "rev-parse", "--is-shallow-repository"];
  const { status, stdout } = spawnSync("git", git, { encoding: "utf8" });
  if (status !== 0) return "this is no git checkout, so earlier commits are missing";
  return stdout.trim() === "true"
    ? "this checkout is shallow: `git fetch --unshallow` brings the earlier commits"
    : undefined;
}
