import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { pinnedImage } from "../docker/image";
import { freePort } from "../layers/freePort";
import { mustRun } from "../layers/run";
import { packed } from "../package/packed";
import { describeEngineWithHost } from "./available";
import { openForeign } from "./foreignProgram";
import { expectOneMachine } from "./oneMachine";
import { type StackParts, stackConfig } from "./stackConfig";
import type { Update } from "./update";
import type { Workspace } from "./workspace";

const EXAMPLE = readFileSync("docs/examples/yaml-program/Pulumi.yaml", "utf8");

interface YamlProgram {
  readonly resources: Record<string, { readonly type: string; readonly properties: object }>;
}

describeEngineWithHost("yaml", "a YAML program of somebody else", () => {
  let workspace: Workspace;
  let parts: StackParts;

  const settingsWith = (server: object = {}, machine: object = {}) =>
    stackConfig(
      parts,
      { ...server },
      { instanceA: "none", clients: { codex: { via: "native" } }, ...machine },
    )["local-serving:machines"];
  /** The example with other settings, and with further resources. */
  const programWith = (settings: unknown, more: YamlProgram["resources"] = {}) => {
    const program = parse(EXAMPLE) as YamlProgram;
    const { serving } = program.resources;
    return stringify({
      ...program,
      resources: {
        ...more,
        serving: { ...serving, properties: { ...serving?.properties, settings } },
      },
    });
  };
  const declare = (...given: Parameters<typeof programWith>) =>
    writeFileSync(join(workspace.project, "Pulumi.yaml"), programWith(...given));
  const errorsOf = ({ diagnostics }: Update) =>
    diagnostics.filter(({ severity }) => severity === "error").map(({ message }) => message);

  beforeAll(async () => {
    const portB = await freePort();
    parts = { image: await pinnedImage(), portA: 0, portB, unique: `y${portB}` };
    workspace = await openForeign(await packed(), "yaml-program", {
      "Pulumi.yaml": programWith(settingsWith()),
    });
  });

  afterAll(() => workspace.close());

  it("has a schema of the component, made from bundle/plugin/index.ts", async () => {
    const plugin = "./node_modules/local-serving/plugin";
    const schema = await workspace.tool("package", "get-schema", plugin);
    expect(schema, schema.stderr).toMatchObject({ code: 0 });
    const { resources, name } = JSON.parse(schema.stdout);
    expect([name, Object.keys(resources)]).toEqual([
      "local-serving",
      ["local-serving:index:LocalServing"],
    ]);
    const { inputProperties, requiredInputs, properties, isComponent } =
      resources["local-serving:index:LocalServing"];
    expect(inputProperties).toMatchObject({
      settings: { type: "object", additionalProperties: { $ref: "pulumi.json#/Any" } },
      baseDirectory: { type: "string" },
    });
    expect([Object.keys(inputProperties).sort(), requiredInputs, isComponent]).toEqual([
      ["baseDirectory", "settings"],
      ["settings"],
      true,
    ]);
    expect(Object.keys(properties).sort()).toEqual(["clients", "endpoints", "memory"]);
  });

  it("gets the package by `pulumi package add`", async () => {
    const { packages: _, ...bare } = parse(EXAMPLE);
    writeFileSync(join(workspace.project, "Pulumi.yaml"), stringify(bare));
    const plugin = "./node_modules/local-serving/plugin";
    const added = await workspace.tool("package", "add", plugin);
    expect(added, added.stdout + added.stderr).toMatchObject({ code: 0 });
    const written = parse(readFileSync(join(workspace.project, "Pulumi.yaml"), "utf8"));
    expect(written.packages).toEqual({ "local-serving": plugin });
  });

  it("is refused by path where a setting isn't known at preview", async () => {
    const later = { type: "command:local:Command", properties: { create: "echo net" } };
    declare(settingsWith({}, { network: `\${later.stdout}` }), { later });
    const preview = await workspace.preview();
    expect(preview.code).not.toBe(0);
    expect(errorsOf(preview).join("\n")).toContain(
      "settings of serving: 1 fault\n  settings.dgx.network: This value isn't known at preview, but all settings are checked before the first resource",
    );
  });

  it("is refused before its first resource", async () => {
    declare(settingsWith({ gpuMemoryUtilization: 0.91 }));
    const up = await workspace.up("--skip-preview");
    expect(up.code).not.toBe(0);
    expect(errorsOf(up).join("\n")).toMatch(
      /Refused, and nothing of LocalServing `serving` was changed:\n- aggregate-utilization: .* claim 0\.91 of/,
    );
    const { deployment } = JSON.parse(await workspace.state());
    expect(deployment.resources.map(({ type }: { type: string }) => type)).toEqual([
      "pulumi:pulumi:Stack",
      // The plugin itself.
      "pulumi:providers:local-serving",
    ]);
  });

  it("previews and applies one machine, and has no change in the next preview", async () => {
    declare(settingsWith());
    await expectOneMachine(workspace, parts);
    const container = `vllm-model-${parts.unique}-${parts.portB}`;
    expect(await mustRun("docker", ["inspect", "--format", "{{.State.Running}}", container])).toBe(
      "true",
    );
  });
});
