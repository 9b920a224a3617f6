import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type PinnedImage, pinnedImage } from "../docker/image";
import { statusOf } from "../docker/statusOf";
import { freePort } from "../layers/freePort";
import { mustRun, run } from "../layers/run";
import { describeEngine, describeEngineWithGpus } from "./available";
import { Workspace } from "./workspace";

const FIXTURE = join(__dirname, "fixture");

describeEngineWithGpus("a program under the real engine", () => {
  let workspace: Workspace;
  let image: PinnedImage;
  let config: Record<string, unknown>;
  let port: number;
  beforeAll(async () => {
    image = await pinnedImage();
    port = await freePort();
    config = {
      "fixture:image": image.reference,
      "fixture:port": port,
      "fixture:name": `fixture-${port}`,
    };
    workspace = await Workspace.open({ program: FIXTURE, config });
  });
  afterAll(() => workspace.close());

  const inspect = async (format: string): Promise<unknown> =>
    JSON.parse(
      await mustRun("docker", ["inspect", "--format", `{{json ${format}}}`, `fixture-${port}`]),
    );

  it("is created, with what was asked for on the container", async () => {
    const up = await workspace.up();
    expect(up.stderr + up.stdout).toContain("4 created");
    expect(up).toMatchObject({ code: 0, changes: { create: 4 } });
    expect(up.diagnostics).toContainEqual({
      severity: "warning",
      message: "the fixture has one warning",
    });
    expect(await inspect(".HostConfig.DeviceRequests")).toMatchObject([{ Count: -1 }]);
    expect(await inspect(".HostConfig.RestartPolicy.Name")).toBe("unless-stopped");
    expect(await inspect(".HostConfig.IpcMode")).toBe("host");
    expect((await workspace.outputs()).containerId).toBe(await inspect(".Id"));
    expect(readFileSync(join(workspace.home, "note"), "utf8")).toBe(String(port));
    await expect.poll(() => statusOf(`http://127.0.0.1:${port}/health`)).toBe(200);
  });

  it("has nothing to change afterwards, the machine read again", async () => {
    const preview = await workspace.preview("--refresh", "--diff", "--expect-no-changes");
    expect(preview).toMatchObject({ code: 0, steps: [], changes: { same: 4 } });
  });

  it("shows the one change of an edited stack file, property by property", async () => {
    workspace.configure({ ...config, "fixture:greeting": "good morning" });
    const preview = await workspace.preview("--diff");
    expect(preview.steps.map(({ op, name }) => [op, name])).toContainEqual(["replace", "server"]);
    const server = preview.steps.find(({ op, name }) => op === "replace" && name === "server");
    expect(server?.diffs).toEqual(["envs"]);
    expect(preview.stdout).toContain("GREETING=good morning");
    expect((await workspace.preview("--expect-no-changes")).code).not.toBe(0);
    workspace.configure(config);
    expect((await workspace.preview("--expect-no-changes")).code).toBe(0);
  });

  it("is gone after destroy, with the image kept", async () => {
    expect(await workspace.destroy()).toMatchObject({ code: 0, changes: { delete: 4 } });
    expect((await run("docker", ["inspect", `fixture-${port}`])).code).not.toBe(0);
    expect(existsSync(join(workspace.home, "note"))).toBe(false);
    await mustRun("docker", ["image", "inspect", image.reference]);
  });
});

describeEngine("a workspace", () => {
  let workspace: Workspace;
  beforeAll(async () => {
    workspace = await Workspace.open({
      program: FIXTURE,
      config: { "fixture:refusal": "not on this machine" },
    });
  });

  it("keeps its state to itself", async () => {
    const stacks = JSON.parse((await workspace.pulumi("stack", "export")).stdout) as {
      version: number;
    };
    expect(stacks.version).toBe(3);
    expect(existsSync(join(workspace.root, "state/.pulumi/stacks/fixture/test.json"))).toBe(true);
  });

  it("tells why a program failed", async () => {
    const preview = await workspace.preview();
    expect(preview.code).not.toBe(0);
    expect(preview.diagnostics).toContainEqual({
      severity: "error",
      message: "not on this machine",
    });
    expect(preview.steps.map(({ name }) => name)).toEqual(["fixture-test"]);
  });

  it("leaves nothing behind", async () => {
    await workspace.close();
    expect(existsSync(workspace.root)).toBe(false);
  });
});
