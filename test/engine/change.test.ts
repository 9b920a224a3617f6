import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runServing } from "../cli/runServing";
import { type PinnedImage, pinnedImage } from "../docker/image";
import { freePort } from "../layers/freePort";
import { run } from "../layers/run";
import { describeEngineWithGpus } from "./available";
import { type HostProcess, startInstanceA } from "./instanceA";
import { digestOf, SHARE, type StackParts, stackConfig } from "./stackConfig";
import { Workspace } from "./workspace";

const BROKEN = "#!/bin/sh\necho 'this build is broken' >&2\nexit 1\n";
const brokenImage = () => pinnedImage({ tag: "v0.30.1", programs: { vllm: BROKEN } });

/** `serving` for a workspace's stack file, with a home of its own. */
const servingIn =
  (workspace: () => Workspace) =>
  (...args: string[]) => {
    const { project, home } = workspace();
    return runServing([...args, "--file", join(project, "Pulumi.test.yaml")], {
      ...{ HOME: home, XDG_STATE_HOME: join(home, ".local/state"), NO_COLOR: "1" },
    });
  };

const RECORD = { vllm: "0.30.0", transformers: "5.11.0", evidence: "read", source: "test" };

describeEngineWithGpus("a change", () => {
  let workspace: Workspace;
  let parts: StackParts;
  let broken: PinnedImage;
  let instanceA: HostProcess;

  beforeAll(async () => {
    const [portA, portB] = [await freePort(), await freePort()];
    instanceA = await startInstanceA(portA, SHARE);
    parts = { image: await pinnedImage(), portA, portB, unique: `w${portB}` };
    broken = await brokenImage();
    workspace = await Workspace.open({ config: config() });
  });
  afterAll(async () => {
    instanceA.stop();
    await workspace.close();
  });

  const config = (server: object = {}, machine: object = {}) =>
    stackConfig(parts, { maxModelLen: 131_072, ...server }, { memoryFloorGiB: 0, ...machine });
  const serving = servingIn(() => workspace);
  const changeAgainst = async (source: string) => {
    const { out } = await serving("plan", "--against", source, "--format", "json");
    return (JSON.parse(out) as { change: { machines: Machines } }).change.machines;
  };
  type Machines = readonly {
    readonly containers: readonly { readonly resource: string; readonly kind: string }[];
    readonly files: readonly { readonly role: string }[];
  }[];
  /** What the engine says that it does to containers. */
  const engineSays = async () => {
    const preview = await workspace.preview();
    const steps = preview.steps.filter(({ type }) => type.endsWith(":Container"));
    return {
      preview,
      replaced: steps.filter(({ op }) => op === "replace").map(({ name }) => name),
    };
  };

  it("nothing differs from what was applied, once it was", async () => {
    expect((await serving("plan", "--against", "applied")).code).toBe(2);
    const up = await workspace.up();
    expect(up, up.stdout + up.stderr).toMatchObject({ code: 0 });
    expect(up.stdout).not.toContain("is gone");
    const { code, out } = await serving("plan", "--against", "applied");
    expect(code).toBe(0);
    expect(out).toContain("  dgx: clients lose nothing.\n");
    expect(out).toContain("What changes on dgx\n  Nothing is replaced or written.\n");
  });

  it.each<[string, object, object]>([
    ["a share", { gpuMemoryUtilization: 0.03 }, {}],
    ["a health check", { healthcheck: { intervalSeconds: 2 } }, {}],
    ["a grace period", { stopGraceSeconds: 6 }, {}],
    ["a served name", { servedModelName: "other" }, {}],
    ["an alias of the address", { listen: "0.0.0.0" }, {}],
    ["a folder of models", {}, { modelCache: "~/models" }],
    ["the memory floor", {}, { memoryFloorGiB: 0.1 }],
    ["a record", { versions: RECORD }, {}],
  ])("the engine replaces what the plan says: %s", async (_, server, machine) => {
    const recorded = { versions: { ...RECORD, digest: digestOf(parts.image) } };
    workspace.configure(config("versions" in server ? recorded : server, machine));
    const said = await changeAgainst("applied");
    const { preview, replaced } = await engineSays();
    workspace.configure(config());
    expect(preview.code).toBe(0);
    const planned = said.flatMap(({ containers }) =>
      containers.filter(({ kind }) => kind === "replaced"),
    );
    expect(planned.map(({ resource }) => resource)).toEqual(replaced);
    const gate = preview.steps.some(
      ({ type, name }) => type.endsWith(":Command") && name === "dgx-start-gate",
    );
    expect(said.some(({ files }) => files.some(({ role }) => role === "start-gate"))).toBe(gate);
  });

  it("a preview that replaces a server says for how long it is gone, and the next one says the same", async () => {
    workspace.configure(config({ image: broken.reference }));
    const said = async () =>
      (await workspace.preview()).diagnostics
        .flatMap(({ message }) => message.split("\n").map((line) => line.trim()))
        .filter((each) => each.includes("is gone"));
    const first = await said();
    expect(first).toEqual([
      expect.stringMatching(
        /^dgx: b \(model-\S+, org\/model\) is gone for \d+ to \d+ min, or .* those that outlast 10 min \(`waitForRequestsMinutes`\) are cut off\.$/,
      ),
    ]);
    expect(await said()).toEqual(first);
    workspace.configure(config());
  });
});

describeEngineWithGpus("an image that is no good", () => {
  let workspace: Workspace;
  let parts: StackParts;
  let broken: PinnedImage;
  beforeAll(async () => {
    const portB = await freePort();
    parts = { image: await pinnedImage(), portA: await freePort(), portB, unique: `w${portB}` };
    broken = await brokenImage();
    workspace = await Workspace.open({ config: config() });
  });
  afterAll(() => workspace.close());

  const config = (server: object = {}) =>
    stackConfig(
      parts,
      { maxModelLen: 131_072, ...server },
      { instanceA: "none", memoryFloorGiB: 0 },
    );
  const serving = servingIn(() => workspace);
  const passes = async (...args: string[]) => {
    const ran = await serving(...args);
    expect(ran.code, ran.out + ran.err).toBe(0);
    return ran.out;
  };

  it("is left by the command that the plan names", async () => {
    const up = await workspace.up();
    expect(up.code, up.stdout + up.stderr).toBe(0);
    await passes("wait");
    expect((await serving("plan", "--against", "verified")).code).toBe(2);
    await passes("verify");
    const same = await passes("plan", "--against", "verified");
    expect(same).toContain("Changed settings\n  None.\n");
    expect(same).not.toContain("The way back");

    workspace.configure(config({ image: broken.reference }));
    await workspace.up();
    expect((await serving("wait")).code).toBe(1);
    expect((await serving("verify")).code).toBe(1);
    const change = await passes("plan", "--against", "verified");
    expect(change).toContain(`${parts.image.reference} -> ${broken.reference}`);
    const [, command = ""] = /The way back\n {2}`(.*)`\n/.exec(change) ?? [];
    expect(command).toMatch(/^cp \S+ \S+ && serving up --stack test$/);

    // Where a person says yes, and `serving` is on the PATH.
    const typed = `${command.replace("serving up", "node bundle/serving.cjs up")} --yes`;
    const taken = await run("sh", ["-c", typed], {
      cwd: workspace.project,
      env: workspace.env,
    });
    expect(taken.code, taken.stdout + taken.stderr).toBe(0);
    await passes("wait");
    await passes("verify");
    expect(await passes("plan", "--against", "verified")).toBe(same);
  });
});
