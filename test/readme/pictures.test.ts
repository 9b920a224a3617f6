import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it, vi } from "vitest";
import { readHost } from "../../operate/sees/computer/computer";
import { temporaryFolder } from "../layers/temporaryFolder";
import { madeMachine } from "../operate/init/madeMachine";
import { runServing } from "../operate/runServing";
import { cut, leftOut, type Shown, terminal } from "./terminal";

const ARGV = [
  ...["/opt/vllm/bin/vllm", "serve", "org/model-a", "--gpu-memory-utilization", "0.45"],
  ...["--served-model-name", "model-a"],
];
const GIB = 1024 ** 2;

/** What `init` finds on a made-up DGX Spark that runs a vLLM already. */
async function factsBesideA(folder: string): Promise<string> {
  const { sources, env } = madeMachine({
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

/** What the commands print, one after the other, in a folder of their own. */
async function printed(): Promise<Record<"init" | "plan" | "refused" | "review", string>> {
  const folder = temporaryFolder("terminal-");
  symlinkSync(resolve("models"), join(folder, "models"));
  const facts = await factsBesideA(folder);
  const [stackFile, before] = [join(folder, "Pulumi.spark.yaml"), join(folder, "before.yaml")];
  const said = async (...args: string[]) => {
    const cwd = vi.spyOn(process, "cwd").mockReturnValue(folder);
    const { out, err } = await runServing(args, { COLUMNS: "96", npm_command: "run-script" });
    cwd.mockRestore();
    return `${out}${err}`.replaceAll(`${folder}/`, "");
  };
  /** Writes another share into the first block that has this key. */
  const share = (key: string, to: string) => {
    const text = readFileSync(stackFile, "utf8");
    const block = new RegExp(`( ${key}:[\\s\\S]*?gpuMemoryUtilization: )0\\.45\\n`);
    if (!block.test(text)) throw new Error(`no share of ${key} in:\n${text}`);
    writeFileSync(stackFile, text.replace(block, `$1${to}\n`));
  };
  const init = await said("init", "--from", facts, "--yes", "--no-install");
  const plan = await said("plan");
  copyFileSync(stackFile, before);
  share("b", "0.60");
  const refused = await said("plan");
  share("instanceA", "0.30");
  return { init, plan, refused, review: await said("plan", "--against", before) };
}

/** Of each command what a reader has to see. */
async function recorded(): Promise<Shown[]> {
  const { init, plan, refused, review } = await printed();
  return [
    {
      typed: "serving init",
      lines: [
        ...cut(init, /^Found on/),
        ...cut(init, /- Device/),
        ...cut(init, /- vLLM on port 8000/),
        ...leftOut,
        ...cut(init, /is written/),
      ],
    },
    {
      typed: "serving plan",
      lines: plan.trimEnd().split("\n"),
    },
    {
      typed: "serving plan                            # b edited: gpuMemoryUtilization: 0.60",
      lines: [
        ...cut(refused, /^REFUSED by/, /^ {2}1 instance A/),
        ...leftOut,
        ...cut(refused, /^ {2}memory/, /^ {2}first up/),
      ],
    },
    {
      typed: "serving plan --against before.yaml      # and instance A lowered to 0.30",
      lines: [
        ...cut(review, /Ask before/),
        ...leftOut,
        ...cut(review, /^What (else )?happens/, /Nothing is newly/),
        ...leftOut,
        ...cut(review, /^Memory of/),
        ...cut(review, /KV cache of b/, /^$/),
      ],
    },
  ];
}

it("docs/pictures/terminal.svg is what the program prints; `vitest -u` draws it anew", async () => {
  const title = "serving init, plan, a refusal and a review, in a terminal";
  const picture = terminal(title, await recorded());
  await expect(picture).toMatchFileSnapshot(resolve("docs/pictures/terminal.svg"));
  expect(picture.length).toBeLessThan(10_000);
  const quoted = ["136.26 GiB", "is gone for 4 to 10 min", "claude-code, codex"];
  const readme = readFileSync("README.md", "utf8");
  for (const quote of quoted)
    expect([picture.includes(quote), readme.includes(quote)]).toEqual([true, true]);
});
