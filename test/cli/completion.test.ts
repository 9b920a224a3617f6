import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { COMMANDS } from "../../cli/servingCommand";
import { temporaryFolder } from "../layers/temporaryFolder";
import { runServing } from "./runServing";

describe("what may follow on a command line", () => {
  const offered = async (...words: string[]) => {
    const { code, out, err } = await runServing(["candidates", "--", ...words]);
    expect([code, err]).toEqual([0, ""]);
    return out.split("\n").flatMap((line) => line.split("\t")[0] || []);
  };

  it("is every command that help lists, each with what it does", async () => {
    expect(await offered("")).toEqual([...Object.keys(COMMANDS), "help"]);
    const { out } = await runServing(["candidates", "--", ""]);
    expect(out).toContain("\nlogs\tPrint the end of the log of a server or service,");
  });

  it.each([
    [["plan", "--stack", ""], ["dgx"]],
    [
      ["restore", ""],
      ["b", "bridge", "chat-ui", "simple-server", "instance-a"],
    ],
    [["models", "--server", ""], ["b"]],
    [["doctor", "--machine", ""], ["dgx"]],
    [["bench", ""], ["b"]],
    [["wait", ""], ["b"]],
    [
      ["plan", "--out", "x", "--format", "j"],
      ["text", "json", "markdown"],
    ],
    [
      ["clients", ""],
      ["export", "help"],
    ],
    [
      ["completion", ""],
      ["bash", "zsh", "fish"],
    ],
    [["plan", "--out", ""], []],
  ])("after %j is %j", async (words, expected) => {
    expect(await offered(...words)).toEqual(expected);
  });

  it("are no stacks whose names a shell would run", async () => {
    const project = temporaryFolder("stacks-");
    for (const name of ["Pulumi.yaml", "Pulumi.lab.yaml", "Pulumi.$(id).yaml", "Pulumi.a b.yaml"])
      writeFileSync(join(project, name), "name: local-serving\n");
    const cwd = vi.spyOn(process, "cwd").mockReturnValue(project);
    onTestFinished(() => cwd.mockRestore());
    expect(await offered("plan", "--stack", "")).toEqual(["lab"]);
  });

  it("are models of the catalogue and options, also of a command in a group", async () => {
    expect(await offered("models", "use", "")).toContain("gpt-oss-120b");
    expect(await offered("models", "use", "-")).toContain("--drafts");
    expect(await offered("status", "-")).toContain("--against");
    expect(await offered("status", "-")).not.toContain("--server");
  });
});

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
    `compdef() { :; }; compadd() { shift; print -rl -- \${(M)@:#$words[CURRENT]*}; }; _files() { print FILES; }
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
  const folder = temporaryFolder("completion-");
  const missing = spawnSync(shell, ["-c", ":"]).error !== undefined;
  const script = join(folder, "script");
  const asked = join(folder, "asked");
  /** What the shell offers where `serving` answers with these candidates. */
  const offered = (candidates: string, ...words: string[]) => {
    const answer = `#!/bin/sh\nprintf '<%s>' "$@" > ${asked}\nprintf -- '${candidates}'\n`;
    writeFileSync(join(folder, "serving"), answer, { mode: 0o755 });
    return execFileSync(shell, SHELLS[shell](script, ["serving", ...words]), {
      cwd: folder,
      encoding: "utf8",
      env: { ...process.env, PATH: `${folder}:${process.env.PATH}` },
    })
      .split("\n")
      .filter(Boolean);
  };

  beforeAll(async () => {
    const { code, out } = await runServing(["completion", shell]);
    expect(code).toBe(0);
    writeFileSync(script, out);
  });

  it.skipIf(missing)("asks for what follows the words, and offers what begins as typed", () => {
    const candidates = "plan\\tShow it.\\npin\\tPin it.\\nlogs\\tRead $(id) it.\\n";
    expect(offered(candidates, "p").sort()).toEqual(["pin", "plan"]);
    expect(readFileSync(asked, "utf8")).toBe("<candidates><--><p>");
    expect(offered("--file\\n--format\\n", "plan", "b", "--fi")).toEqual(["--file"]);
    expect(readFileSync(asked, "utf8")).toBe("<candidates><--><plan><b><--fi>");
  });

  it.skipIf(missing)("asks with an empty last word, too, and leaves files to the shell", () => {
    const files = { bash: [], zsh: ["FILES"], fish: ["asked", "script", "serving"] }[shell];
    expect(offered("", "plan", "--out", "")).toEqual(files);
    expect(readFileSync(asked, "utf8")).toBe("<candidates><--><plan><--out><>");
  });
});
