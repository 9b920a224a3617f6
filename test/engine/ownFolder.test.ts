import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { version } from "../../package.json";
import { run } from "../layers/run";
import { installed, packed } from "../package/packed";
import { describeEngine } from "./available";
import { engineEnvironment } from "./environment";

const SAMPLE = join(__dirname, "../../Pulumi.dgx.yaml");

describeEngine("a package in a folder of its own, under the engine", () => {
  let root = "";
  let folder = "";
  let program = "";
  let env: Record<string, string | undefined> = {};
  let pulumi = "";

  beforeAll(async () => {
    const layer = inject("engineLayer");
    if (layer.missing !== undefined) throw new Error(layer.missing);
    pulumi = layer.pulumi;
    root = realpathSync(mkdtempSync(join(tmpdir(), "own-folder-")));
    // No Docker answers, whatever this machine has: a preview works without one.
    env = { ...engineEnvironment(root, layer), DOCKER_HOST: "unix:///dev/null/docker.sock" };
    folder = join(root, "home/spark");
    program = await installed(await packed(), folder);
    cpSync(SAMPLE, join(folder, "Pulumi.spark.yaml"));
    const init = ["init", "--no-install", "--pin", "0.0.0"];
    const made = await run("node", [join(program, "bundle/serving.cjs"), ...init], {
      cwd: folder,
      env,
    });
    expect(made).toMatchObject({ code: 0, stderr: "" });
    expect(await inFolder(["stack", "init", "spark"])).toMatchObject({ code: 0 });
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  const inFolder = (args: readonly string[]) =>
    run(pulumi, [...args, "--non-interactive", "--color", "never"], { cwd: folder, env });

  const times = () =>
    readdirSync(program, { recursive: true }).map(
      (name) => `${String(name)} ${statSync(join(program, String(name))).mtimeMs}`,
    );

  it("is previewed by plain pulumi with the policies of the package, which stays as it is", async () => {
    const before = times();
    const pack = join(program, "policies");
    const { code, stdout } = await inFolder(["preview", "--stack", "spark", "--policy-pack", pack]);
    expect(stdout).toContain(`local-serving@v${version}`);
    expect(stdout).toMatch(/Resources:\n {4}\+ \d+ to create/);
    expect(code).toBe(0);
    expect(times()).toEqual(before);
  });

  it("is refused with the line of the folder's stack file", async () => {
    const file = join(folder, "Pulumi.spark.yaml");
    const text = readFileSync(file, "utf8");
    const ofB = "          gpuMemoryUtilization: 0.45";
    const line = text.split("\n").indexOf(ofB) + 1;
    writeFileSync(file, text.replace(ofB, ofB.replace("0.45", "0.6")));
    const pack = join(program, "policies");
    const { code, stdout } = await inFolder(["preview", "--stack", "spark", "--policy-pack", pack]);
    writeFileSync(file, text);
    expect(code).not.toBe(0);
    expect(stdout).toContain("[mandatory]  aggregate-utilization");
    expect(stdout).toContain(
      `In the stack file, line ${line}: \`machines.dgx.inferenceServers.b.gpuMemoryUtilization: 0.45\`.`,
    );
  });

  it("judges by the levels of the folder", async () => {
    mkdirSync(join(folder, "policies"));
    writeFileSync(join(folder, "policies/levels.json"), '{ "moving-tags": "advisory" }');
    const { code, stdout } = await inFolder(["preview", "--stack", "spark"]);
    expect(code).not.toBe(0);
    expect(stdout).toContain("Unknown key `moving-tags`. Did you mean `moving-tag`?");
  });
});
