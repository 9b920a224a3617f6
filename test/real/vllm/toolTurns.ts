import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { Workspace } from "../../engine/workspace";
import { run } from "../../layers/run";
import type { Program } from "../programs";
import { PROGRAMS } from "../setup";

/** How each client is told to do one thing and end, and the tool that it runs commands with. */
export const SCRIPTED_CLIENTS = [
  {
    name: "claude",
    ask: (prompt: string) => ["-p", prompt, "--allowedTools", "Bash"],
    call: (command: string) => toolCall("Bash", { command, description: "a test" }),
  },
  {
    name: "codex",
    ask: (prompt: string) => [
      ...["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt],
    ],
    call: (cmd: string) => toolCall("exec_command", { cmd }),
  },
] as const;

type ScriptedClient = (typeof SCRIPTED_CLIENTS)[number];

/** A call in the form of the parser qwen3_coder, behind thoughts. */
function toolCall(name: string, parameters: Readonly<Record<string, string>>): string {
  const values = Object.entries(parameters).map(
    ([key, value]) => `<parameter=${key}>\n${value}\n</parameter>\n`,
  );
  return `</think>\n\n<tool_call>\n<function=${name}>\n${values.join("")}</function>\n</tool_call>\n`;
}

/** The path of a program that a test can't do without. */
export function installedPath(program: Program): string {
  if ("missing" in program) throw new Error(program.missing);
  return program.path;
}

/** Has a client of the stack run a command that the model asks for, and tell the model of it. */
export async function toolTurn(
  workspace: Workspace,
  { name, ask, call }: ScriptedClient,
  limitSeconds: number,
): Promise<void> {
  const program = installedPath(await PROGRAMS[name]());
  const work = join(workspace.root, name);
  mkdirSync(work);
  const proof = join(work, "proof");
  const script = join(work, "script");
  writeFileSync(script, `#!/bin/sh\necho it ran >${proof}\necho seen by the model\n`);
  chmodSync(script, 0o755);
  const launcher = join(workspace.home, `.local/bin/local-${name}`);
  const said = await run(launcher, ask(`SAY<<${call(script)}>>`), {
    env: { ...workspace.env, PATH: `${dirname(program)}:/usr/bin:/bin` },
    cwd: work,
    limitSeconds,
  });
  expect(said, said.stdout + said.stderr).toMatchObject({ code: 0 });
  expect(readFileSync(proof, "utf8")).toBe("it ran\n");
  expect(said.stdout).toMatch(/It says: .*seen by the model/s);
}
