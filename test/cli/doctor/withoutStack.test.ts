import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { runServing } from "../runServing";
import { STACK_TEXT } from "./stack";

const CLONE = join(__dirname, "../../..");
const NONE = "There is no stack file to compare with";
const OWN = "the log's own settings were used.";
const json = ["--format", "json"];

const folder = temporaryFolder("without-stack-");
let made = 0;

function file(text: string): string {
  const path = join(folder, `server-${made++}.log`);
  writeFileSync(path, `${text}\n`);
  return path;
}

/** A project of ours with these stack files. */
function project(...stacks: readonly string[]): string {
  const path = join(folder, `project-${made++}`);
  mkdirSync(path);
  writeFileSync(join(path, "Pulumi.yaml"), "name: local-serving\nruntime: nodejs\n");
  for (const stack of stacks) writeFileSync(join(path, `Pulumi.${stack}.yaml`), STACK_TEXT);
  return path;
}

const BATCH = file(
  "ValueError: max_num_batched_tokens (2048) must be greater than or equal to max_num_seqs (4096)",
);

async function doctor(...args: readonly string[]) {
  const { code, out, err } = await runServing(["doctor", ...args, ...json]);
  return { code, err, ...JSON.parse(out) };
}

describe("a log is enough", () => {
  beforeEach(() => process.chdir(CLONE));

  it("without a stack file, and says so in a sentence", async () => {
    process.chdir(project());
    const found = await doctor("--log", BATCH);
    expect(found).toMatchObject({ code: 1, err: `${NONE}: ${OWN}\n`, notes: [`${NONE}: ${OWN}`] });
    expect(found.diagnoses).toMatchObject([
      {
        id: "batch-below-sequences",
        change: "machines.<machine>.inferenceServers.<server>.maxNumSeqs: 2048",
      },
    ]);
  });

  it("in a clone, whose sample is nobody's", async () => {
    const found = await doctor("--log", BATCH);
    expect(found.notes).toEqual([`${NONE} (that of this clone is a sample): ${OWN}`]);
    expect(found.looked).toEqual([`${BATCH} (1 lines)`]);
    expect(JSON.stringify(found.diagnoses)).not.toMatch(/Pulumi\.dgx|dgx|inferenceServers\.b\b/);
  });

  it.each([
    ["its machine", ["--machine", "dgx"]],
    ["its server", ["--server", "b"]],
    ["its name", ["--stack", "dgx"]],
    ["its file", ["--file", join(CLONE, "Pulumi.dgx.yaml")]],
  ])("compares it with the sample where somebody names %s", async (_, options) => {
    const found = await doctor("--log", BATCH, ...options);
    expect(found.notes).toEqual([]);
    expect(found.diagnoses[0].edits).toEqual([
      { path: ["machines", "dgx", "inferenceServers", "b", "maxNumSeqs"], value: 2048 },
    ]);
  });

  it("where several stack files could be meant, until one is named", async () => {
    process.chdir(project("one", "two"));
    const found = await doctor("--log", BATCH);
    expect(found.notes).toEqual([
      `Which stack file belongs to the log isn't clear (one, two): name it with --stack. Until then ${OWN}`,
    ]);
    expect(found.diagnoses).toHaveLength(1);
    expect((await doctor("--log", BATCH, "--stack", "two")).notes).toEqual([]);
  });

  it("and the project's own stack file is used where it is the only one", async () => {
    process.chdir(project("one"));
    const found = await doctor("--log", BATCH);
    expect(found.notes).toEqual([]);
    expect(found.diagnoses[0].change).toContain("+          maxNumSeqs: 2048\n");
  });

  it.each([
    [
      "vLLM's picture",
      "(APIServer pid=1) INFO [utils.py:299]   █▄█▀ █     █     █     █  model   org/other",
    ],
    ["its engine", "Initializing a V1 LLM engine (v0.30.0) with config: model='org/other', x=1"],
    ["its arguments", "non-default args: {'model_tag': 'org/other', 'port': 8000}"],
  ])("left out is a stack file of another model, by %s", async (_, line) => {
    process.chdir(project("one"));
    const log = file(`${line}\nvllm: error: unrecognized arguments: --swap-space 4`);
    const found = await doctor("--log", log);
    expect(found.notes).toEqual([
      `${log} is from another model than those of Pulumi.one.yaml, so that stack file was left out: name the log's own with --stack or --file.`,
    ]);
    expect(found.diagnoses[0].advice).toBe("Take `--swap-space` out.");
  });

  it("and files that are no log are judged by themselves", async () => {
    process.chdir(project());
    const found = await doctor(
      "--dmesg",
      file("Out of memory: Killed process 4242 (VLLM::Engine)"),
    );
    expect(found.notes).toEqual([`${NONE}: the files were judged by themselves.`]);
  });

  it("and nothing is called unread where all was", async () => {
    process.chdir(project());
    const log = file("INFO:     Application startup complete.");
    const { code, out } = await runServing(["doctor", "--log", log]);
    expect([code, out]).toEqual([0, `Looked at: ${log} (1 lines).\nNo trouble found.\n`]);
  });
});

describe("models and completion without a stack file", () => {
  beforeEach(() => process.chdir(project()));

  it.each([
    [[], "spark"],
    [["--machine", "spark-64"], "spark-64"],
  ])("lists the models of a bare machine: %s", async (options, machine) => {
    const { code, out, err } = await runServing(["models", ...options, ...json]);
    expect([code, JSON.parse(out).machine]).toEqual([0, machine]);
    expect(err).toMatch(
      new RegExp(
        `^There is no stack file to compare with: models are judged for a machine \`${machine}\` \\([\\d.]+ GiB\\) that runs nothing else; \`--machine\` names another, and \`serving init\` writes the file of yours\\.\n$`,
      ),
    );
  });

  it("shows one, and what comes next", async () => {
    expect((await runServing(["models", "show", "gpt-oss-120b"])).code).toBe(0);
    const { out } = await runServing(["models"]);
    expect(out).toMatch(
      /\nNext: serving models show MODEL, then serving init and serving models use MODEL --write\n$/,
    );
  });

  it("completes no stack, and the models", async () => {
    const offered = async (...words: string[]) =>
      (await runServing(["candidates", "--", ...words])).out.split("\n").filter(Boolean);
    expect(await offered("plan", "--stack", "")).toEqual([]);
    expect(await offered("models", "--server", "")).toEqual([]);
    expect(await offered("models", "show", "gpt-oss-1")).toContain("gpt-oss-120b\t");
  });
});
