import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { pinnedImage } from "../docker/image";
import { freePort } from "../layers/freePort";
import { mustRun, run } from "../layers/run";
import { describeEngine, describeEngineWithGpus } from "./available";
import { DaemonProxy } from "./daemonProxy";
import { type HostProcess, startInstanceA } from "./instanceA";
import { SHARE, type StackParts, stackConfig } from "./stackConfig";
import type { Update } from "./update";
import { Workspace } from "./workspace";

const NOWHERE = { tag: "x", digest: `sha256:${"0".repeat(64)}`, reference: "" };
const said = (update: Update) => update.stdout + update.stderr;

describeEngineWithGpus("an `up` that fails half way", () => {
  let workspace: Workspace;
  let proxy: DaemonProxy;
  let instanceA: HostProcess;
  let parts: StackParts;
  let machine: { dockerHost: string };

  beforeAll(async () => {
    const [portA, portB] = [await freePort(), await freePort()];
    instanceA = await startInstanceA(portA, SHARE);
    parts = { image: await pinnedImage(), portA, portB, unique: `r${portB}` };
    workspace = await Workspace.open({ config: {} });
    proxy = new DaemonProxy(join(workspace.root, "docker.sock"));
    await proxy.start();
    machine = { dockerHost: `unix://${proxy.path}` };
  });
  afterAll(async () => {
    instanceA.stop();
    await workspace.close();
    await proxy.stop();
  });

  const configure = (server: object = {}, more: object = {}) =>
    workspace.configure(stackConfig(parts, { ...server }, { ...machine, ...more }));
  const container = () => `vllm-model-${parts.unique}-${parts.portB}`;
  const running = async () =>
    (
      await run("docker", [
        "inspect",
        "--format",
        "{{.State.Running}} {{.Config.Image}}",
        container(),
      ])
    ).stdout.trim();

  it("refuses a taken port before the first resource", async () => {
    const squatter = createServer().listen(parts.portB, "127.0.0.1");
    await new Promise((resolve) => squatter.once("listening", resolve));
    configure();
    const up = await workspace.up("--skip-preview");
    await new Promise((resolve) => squatter.close(resolve));
    expect(up.code).not.toBe(0);
    expect(said(up)).toContain(
      `Port ${parts.portB} of ${container()} is in use by something that isn't ours.`,
    );
    expect(up.steps.filter(({ type }) => type.startsWith("docker:"))).toEqual([]);
  });

  it("refuses an instance A that isn't as declared, and a total that isn't the machine's", async () => {
    configure(
      { gpuMemoryUtilization: 0.5 },
      { totalGiB: 4096, instanceA: { port: parts.portA, gpuMemoryUtilization: 0.1 } },
    );
    const up = await workspace.up("--skip-preview");
    expect(said(up)).toContain(
      `Instance A on port ${parts.portA} runs with utilization ${SHARE}, but 0.1 is declared.`,
    );
    // A refusal has a dash before it, a warning has none.
    expect(said(up)).toMatch(
      /- preflight of dgx: totalGiB is 4096, but the machine has ([\d.]+)\. Set `totalGiB: \1`\. The plan counts [\d.]+ GiB that don't exist\./,
    );
    expect(up.steps.filter(({ type }) => type.startsWith("docker:"))).toEqual([]);
  });

  it("recovers from an image that isn't there", async () => {
    configure({ image: parts.image.reference.replace(/sha256:.*/, NOWHERE.digest) });
    const up = await workspace.up("--skip-preview");
    expect(up.code).not.toBe(0);
    expect(await running()).toBe("");
    configure();
    const next = await workspace.up("--skip-preview");
    expect(next, said(next)).toMatchObject({ code: 0 });
    expect(await running()).toBe(`true ${parts.image.reference}`);
  });

  it("recovers from a daemon that goes while the container is being replaced", async () => {
    configure({ gpuMemoryUtilization: 0.03 });
    proxy.goneAtRequest("/containers/create");
    const up = await workspace.up("--skip-preview");
    expect(up.code).not.toBe(0);
    await proxy.start();
    const next = await workspace.up("--skip-preview");
    expect(next, said(next)).toMatchObject({ code: 0 });
    expect(
      await mustRun("docker", ["inspect", "--format", "{{json .Config.Cmd}}", container()]),
    ).toContain('"0.03"');
    expect(await workspace.preview("--refresh", "--expect-no-changes")).toMatchObject({ code: 0 });
  });

  it("says that no daemon answers, and touches nothing", async () => {
    await proxy.stop();
    const up = await workspace.up("--skip-preview");
    await proxy.start();
    expect(up.code).not.toBe(0);
    expect(said(up)).toContain(`No Docker engine answers at ${machine.dockerHost}`);
    expect(await running()).toBe(`true ${parts.image.reference}`);
  });
});

describeEngine("a new stack without a daemon", () => {
  let workspace: Workspace;
  const config = (gpuMemoryUtilization: number) => {
    const reference = `vllm/vllm-openai:v0.30.0@${NOWHERE.digest}`;
    const parts = { image: { ...NOWHERE, reference }, portA: 1, portB: 8001, unique: "x" };
    const dockerHost = "unix:///nonexistent/docker.sock";
    return stackConfig(parts, { gpuMemoryUtilization }, { dockerHost });
  };
  const withPack = () => workspace.preview("--policy-pack", join(workspace.project, "policies"));
  beforeAll(async () => {
    workspace = await Workspace.open({ config: config(SHARE) });
  });
  afterAll(() => workspace.close());

  it("is previewed all the same, with the reason said", async () => {
    const preview = await withPack();
    expect(preview, said(preview)).toMatchObject({ code: 0 });
    expect(preview.steps.map(({ op, name }) => `${op} ${name}`)).toContain("create dgx-b");
    expect(said(preview)).toMatch(
      /dgx: previewed without a Docker engine \(.*unix:\/\/\/nonexistent\/docker\.sock/,
    );
  });

  it("is refused with the line of its stack file, by the program and by the policy pack", async () => {
    workspace.configure(config(0.95));
    const file = join(workspace.project, `Pulumi.${workspace.stack}.yaml`);
    const lines = readFileSync(file, "utf8").split("\n");
    const line = lines.findIndex((each) => each.endsWith("gpuMemoryUtilization: 0.95")) + 1;
    // What fits depends on this machine's memory.
    const setting = "`machines\\.dgx\\.inferenceServers\\.b\\.gpuMemoryUtilization: 0\\.[78]\\d`";
    const where = new RegExp(`In the stack file, line ${line}: ${setting}\\.`);
    const [byProgram, byPack] = [await workspace.preview(), await withPack()];
    expect(said(byProgram)).toMatch(
      /Refused, and nothing was changed:\n *- aggregate-utilization: /,
    );
    expect(said(byPack)).toMatch(/\[mandatory\] +aggregate-utilization /);
    for (const each of [byProgram, byPack]) expect(said(each)).toMatch(where);
  });
});
