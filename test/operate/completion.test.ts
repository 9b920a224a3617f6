import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { COMMANDS } from "../../operate/servingCommand";
import { temporaryFolder } from "../layers/temporaryFolder";
import { runServing } from "./runServing";

const folder = temporaryFolder("completion-");

/** How each shell is asked what it offers for the last of these words. */
const SHELLS = {
  bash: (script: string, words: readonly string[]) => [
    "--norc",
    "-c",
    `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _serving; printf '%s\\n' "\${COMPREPLY[@]}"`,
    script,
    ...words,
  ],
  zsh: (script: string, words: readonly string[]) => [
    "-f",
    "-c",
    `compdef() { :; }; compadd() { shift; print -rl -- \${(M)@:#$current*}; }; _files() { :; }
     source "$0"; words=("$@"); CURRENT=$#; _serving`,
    script,
    ...words,
  ],
  fish: (script: string, words: readonly string[]) => [
    "--no-config",
    "-c",
    `source ${script}; complete -C "${words.join(" ")}" | string replace -r '\\t.*' ''; or true`,
  ],
} as const;

describe.each(Object.keys(SHELLS) as (keyof typeof SHELLS)[])("serving completion %s", (shell) => {
  const missing = spawnSync(shell, ["-c", ":"]).error !== undefined;
  const script = join(folder, shell);
  const offered = (...words: string[]) =>
    execFileSync(shell, SHELLS[shell](script, ["serving", ...words]), {
      cwd: folder,
      encoding: "utf8",
    })
      .split("\n")
      .filter(Boolean)
      .sort();

  beforeAll(async () => {
    const { code, out } = await runServing(["completion", shell]);
    expect(code).toBe(0);
    writeFileSync(script, out);
  });

  it.skipIf(missing)("offers every command at the start", () => {
    expect(offered("")).toEqual(Object.keys(COMMANDS).sort());
  });

  it.skipIf(missing).each([
    [["pl"], ["plan"]],
    [["plan", "--me"], ["--meminfo"]],
    [["plan", "--stack", ""], ["dgx"]],
    [
      ["verify", ""],
      ["b", "bridge", "chat-ui", "instance-a", "simple-server"],
    ],
    [["logs", "br"], ["bridge"]],
    [["models", "use", "gpt-oss-1"], ["gpt-oss-120b"]],
    [["models", "show", "qwen3.6-27"], ["qwen3.6-27b"]],
    [["models", "--server", ""], ["b"]],
    [["doctor", "--machine", ""], ["dgx"]],
    [["bench", ""], ["b"]],
    [["plan", "--out", "x", "--format", "j"], ["json"]],
    [["config", "check", "pro"], ["providers"]],
    [["config", "check", "analytics", "--dot"], ["--dotenv"]],
    [
      ["completion", ""],
      ["bash", "fish", "zsh"],
    ],
  ])("after %j offers %j", (words, expected) => {
    expect(offered(...words)).toEqual(expected);
  });
});
