import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { pinnedImage } from "../docker/image";
import { freePort } from "../layers/freePort";
import { mustRun } from "../layers/run";
import { packed } from "../package/packed";
import { describeEngineWithGpus } from "./available";
import { giveOwnSdk, openForeign } from "./foreignProgram";
import { type StackParts, stackConfig } from "./stackConfig";
import type { Workspace } from "./workspace";

const machinesTs = (machines: unknown) =>
  `import { MachineSettings } from "local-serving";
export const machines: { [name: string]: MachineSettings } = ${JSON.stringify(machines)};
`;

/** The example's program with a resource that waits for all of it, and a component that it renamed. */
const RENAMED = `import * as command from "@pulumi/command";
import { LocalServing } from "local-serving";
import { machines } from "./machines";

const serving = new LocalServing(
  "renamed",
  { settings: machines },
  { aliases: [{ name: "serving" }] },
);
new command.local.Command("after", { create: "true" }, { dependsOn: serving });
export const endpoints = serving.endpoints;
`;

describeEngineWithGpus("a TypeScript program of somebody else", () => {
  let workspace: Workspace;
  let parts: StackParts;
  let container: string;

  const machines = (server: Record<string, unknown> = {}) =>
    stackConfig(
      parts,
      { gpuMemoryUtilization: 0.02, ...server },
      { instanceA: "none", clients: { codex: { via: "native" } } },
    )["local-serving:machines"];
  const declare = (text: string, file = "machines.ts") =>
    writeFileSync(join(workspace.project, file), text);
  const urns = async () => {
    const { deployment } = JSON.parse(await workspace.state()) as {
      deployment: { resources?: { urn: string; dependencies?: string[] }[] };
    };
    return (deployment.resources ?? []).map(({ urn, dependencies = [] }) => ({
      urn: urn.replace("urn:pulumi:test::my-machines::", ""),
      dependencies,
    }));
  };

  beforeAll(async () => {
    parts = { image: await pinnedImage(), portA: 0, portB: await freePort(), unique: "" };
    parts = { ...parts, unique: `any${parts.portB}` };
    container = `vllm-model-${parts.unique}-${parts.portB}`;
    workspace = await openForeign(await packed(), "program", {
      "machines.ts": machinesTs(machines()),
    });
    giveOwnSdk(workspace);
  });

  afterAll(() => workspace.close());

  it("previews everything below the component", async () => {
    const preview = await workspace.preview();
    expect(preview, preview.stdout + preview.stderr).toMatchObject({ code: 0 });
    expect(preview.steps.map(({ type, name }) => `${type} ${name}`)).toEqual(
      expect.arrayContaining([
        "local-serving:index:LocalServing serving",
        "local-serving:index:Machine dgx",
        "docker:index/container:Container dgx-b",
      ]),
    );
  });

  it.each([false, true])("is refused before its first resource (pack: %s)", async (hasPack) => {
    declare(machinesTs(machines({ gpuMemoryUtilization: 0.91 })));
    const pack = join(workspace.project, "node_modules/local-serving/policies");
    const up = await workspace.up("--skip-preview", ...(hasPack ? ["--policy-pack", pack] : []));
    expect(up.code).not.toBe(0);
    const errors = up.diagnostics.filter(({ severity }) => severity === "error");
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringMatching(
        /^Refused, and nothing of LocalServing `serving` was changed:\n- aggregate-utilization: .* claim 0\.91 of .*`settings\.dgx\.inferenceServers\.b\.gpuMemoryUtilization: 0\.[78]\d`\./,
      ),
    ]);
    expect((await urns()).map(({ urn }) => urn)).toEqual(["pulumi:pulumi:Stack::my-machines-test"]);
  });

  it("is refused by the pack, too, which one option adds; the program says why", async () => {
    const pack = join(workspace.project, "node_modules/local-serving/policies");
    const preview = await workspace.preview("--policy-pack", pack);
    expect(preview.code).not.toBe(0);
    expect(preview.policies).toContainEqual(
      expect.objectContaining({
        policyName: "aggregate-utilization",
        enforcementLevel: "mandatory",
        message: expect.stringContaining("The program's error says what to change, and where."),
      }),
    );
    const said = preview.stdout + preview.stderr;
    expect(said.match(/claim 0\.91 of its memory/g), said).toHaveLength(1);
    expect(preview.steps.filter(({ op }) => op !== "create" && op !== "same")).toEqual([]);
    expect(preview.steps.filter(({ type }) => type.endsWith(":Container"))).not.toEqual([]);
  });

  it("is told every fault of its settings at once", async () => {
    declare(
      `export const machines: any = ${JSON.stringify(machines()).replace("totalGiB", "totalGB")};\n`,
    );
    const preview = await workspace.preview();
    expect(preview.code).not.toBe(0);
    expect(preview.diagnostics.map(({ message }) => message)).toEqual([
      expect.stringMatching(
        /^settings of serving: 1 fault\n {2}settings\.dgx\.totalGB: Unknown key/,
      ),
    ]);
  });

  it("is applied, and has no change in the next preview", async () => {
    declare(machinesTs(machines()));
    const pack = join(workspace.project, "node_modules/local-serving/policies");
    const up = await workspace.up("--policy-pack", pack);
    expect(up, up.stdout + up.stderr).toMatchObject({ code: 0 });
    expect(await mustRun("docker", ["inspect", "--format", "{{.State.Running}}", container])).toBe(
      "true",
    );
    expect(await workspace.outputs()).toMatchObject({
      endpoints: { dgx: { b: `http://127.0.0.1:${parts.portB}/v1` } },
      memory: { dgx: { aggregateUtilization: 0.02, aggregateLimit: 0.9 } },
      clients: { dgx: { codex: expect.stringContaining("codex") } },
    });
    expect((await urns()).map(({ urn }) => urn)).toContain(
      "local-serving:index:LocalServing$local-serving:index:Machine$local-serving:index:InferenceServer$local-serving:index:ContainerService$docker:index/container:Container::dgx-b",
    );
    const again = await workspace.preview("--diff");
    expect(again.steps, again.stdout).toEqual([]);
  });

  it("keeps everything under another name, and what depends on it comes last", async () => {
    declare(RENAMED, "index.ts");
    const up = await workspace.up("--skip-preview");
    expect(up, up.stdout + up.stderr).toMatchObject({ code: 0 });
    expect(up.steps.map(({ op, name }) => `${op} ${name}`)).toEqual(["create after"]);
    const after = (await urns()).find(({ urn }) => urn.endsWith("::after"));
    expect(after?.dependencies).toEqual(
      expect.arrayContaining([expect.stringMatching(/Container::dgx-b$/)]),
    );
  });
});
