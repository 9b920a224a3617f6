import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it, vi } from "vitest";
import { readHost } from "../../cli/sees/computer/computer";
import { madeMachine } from "../cli/init/madeMachine";
import { runServing } from "../cli/runServing";
import { temporaryFolder } from "../layers/temporaryFolder";
import { comment, cut, terminal } from "./picture";

const ARGV = [
  ...["/opt/vllm/bin/vllm", "serve", "org/model-a", "--gpu-memory-utilization", "0.45"],
  ...["--served-model-name", "model-a"],
];
const GIB = 1024 ** 2;

/** What `init` finds on a made-up DGX Spark that runs a vLLM already. */
async function factsBesideA(folder: string): Promise<string> {
  const { sources, env } = madeMachine({
    totalKib: Math.round(121.63 * GIB),
    availableKib: Math.round(61 * GIB),
    listening: { 8000: { argv: ARGV, unit: "vllm.service" } },
  });
  vi.stubEnv("PATH", env.PATH ?? "");
  const facts = { ...(await readHost(sources)), host: "spark" };
  vi.unstubAllEnvs();
  const file = join(folder, "facts.json");
  const clients = ["claude", "codex"];
  writeFileSync(file, JSON.stringify({ ...facts, clients, readAt: "2026-11-27T08:00:00Z" }));
  return file;
}

/** A folder with the stack file that `init` wrote for that machine, and commands in it. */
async function madeStack() {
  const folder = temporaryFolder("pictures-");
  symlinkSync(resolve("models"), join(folder, "models"));
  const stackFile = join(folder, "Pulumi.spark.yaml");
  const said = async (...args: string[]) => {
    const cwd = vi.spyOn(process, "cwd").mockReturnValue(folder);
    const { out, err } = await runServing(args, { COLUMNS: "96", npm_command: "run-script" });
    cwd.mockRestore();
    return `${out}${err}`.replaceAll(`${folder}/`, "");
  };
  await said("init", "--from", await factsBesideA(folder), "--yes", "--no-install");
  const written = readFileSync(stackFile, "utf8");
  /** Writes another value of server b into the file as `init` wrote it. */
  const edit = (from: string, to: string) => {
    const at = written.lastIndexOf(from);
    if (at < 0) throw new Error(`no ${from} in:\n${written}`);
    writeFileSync(stackFile, written.slice(0, at) + to + written.slice(at + from.length));
  };
  return { folder, written, said, edit };
}

const README = readFileSync("README.md", "utf8");

it("docs/pictures/plan.svg is what the program prints; `vitest -u` draws it anew", async () => {
  const { said, edit } = await madeStack();
  const plan = await said("plan");
  edit("gpuMemoryUtilization: 0.45", "gpuMemoryUtilization: 0.6");
  const refused = await said("plan");
  const picture = terminal("serving plan, and the same refused", [
    { typed: "serving plan", lines: plan.trimEnd().split("\n") },
    {
      typed: "serving plan                     # after an edit: gpuMemoryUtilization: 0.6",
      lines: cut(refused, /^REFUSED by/, /^ {2}1 A/),
    },
  ]);
  await expect(picture).toMatchFileSnapshot(resolve("docs/pictures/plan.svg"));
  expect(README).toContain("docs/pictures/plan.svg");
});

it("docs/pictures/review.svg is how a comment begins; `vitest -u` draws it anew", async () => {
  const { folder, written, said, edit } = await madeStack();
  const before = join(folder, "Pulumi.before.yaml");
  writeFileSync(before, written);
  edit("maxModelLen: 262144", "maxModelLen: 131072");
  const args = ["plan", "--stack", "spark", "--against", before, "--format", "markdown"];
  const lines = cut(await said(...args), /^### Pulumi/, /^### Changed settings/);
  const picture = comment("A review of a change, as a pull request's comment has it", lines);
  await expect(picture).toMatchFileSnapshot(resolve("docs/pictures/review.svg"));
  expect(picture).toMatch(/Ask before you approve this/);
  expect(README).toContain("docs/pictures/review.svg");
});
