import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { version as sdk } from "@pulumi/pulumi/package.json";
import { afterAll, beforeAll, expect, it } from "vitest";
import { pinnedImage } from "../../docker/image";
import { describeEngineWithHost } from "../../engine/available";
import { openForeign } from "../../engine/foreignProgram";
import { type StackParts, stackConfig } from "../../engine/stackConfig";
import type { Workspace } from "../../engine/workspace";
import { freePort } from "../../layers/freePort";
import { mustRun } from "../../layers/run";
import { packed } from "../../package/packed";

const PULUMI_YAML = `name: my-python-machines
runtime:
  name: python
  options: { toolchain: pip, virtualenv: venv }
`;

const PROGRAM = `import json
import os

import pulumi
import pulumi_local_serving as local_serving

with open("machines.json") as file:
    machines = json.load(file)
serving = local_serving.LocalServing("serving", settings=machines, base_directory=os.getcwd())
pulumi.export("endpoints", serving.endpoints)
pulumi.export("memory", serving.memory)
pulumi.export("clients", serving.clients)
`;

import { expectOneMachine } from "../../engine/oneMachine";

// It needs the network: its SDK comes from Python's registry.
describeEngineWithHost("python", "a Python program of somebody else", () => {
  let workspace: Workspace;
  let parts: StackParts;

  const declare = (server: Record<string, unknown> = {}) => {
    const machine = { instanceA: "none", clients: { codex: { via: "native" } } };
    const machines = stackConfig(parts, server, machine)["local-serving:machines"];
    writeFileSync(join(workspace.project, "machines.json"), JSON.stringify(machines));
  };

  beforeAll(async () => {
    const portB = await freePort();
    parts = { image: await pinnedImage(), portA: 0, portB, unique: `p${portB}` };
    workspace = await openForeign(await packed(), "yaml-program", {
      "Pulumi.yaml": PULUMI_YAML,
      "__main__.py": PROGRAM,
      "requirements.txt": `pulumi==${sdk}\n`,
    });
    const cwd = workspace.project;
    await mustRun("python3", ["-m", "venv", "venv"], { cwd });
    await mustRun("venv/bin/pip", ["install", "--quiet", "-r", "requirements.txt"], { cwd });
  });

  afterAll(() => workspace.close());

  it("gets the package by `pulumi package add`", async () => {
    const added = await workspace.tool("package", "add", "./node_modules/local-serving/plugin");
    expect(added, added.stdout + added.stderr).toMatchObject({ code: 0 });
    expect(added.stdout + added.stderr).toContain("import pulumi_local_serving as local_serving");
  });

  it("is refused before its first resource", async () => {
    declare({ gpuMemoryUtilization: 0.91 });
    const up = await workspace.up("--skip-preview");
    expect(up.code).not.toBe(0);
    expect(up.diagnostics.map(({ message }) => message).join("\n")).toMatch(
      /Refused, and nothing of LocalServing `lab` was changed:\n- aggregate-utilization: .* claim 0\.91 of/,
    );
    expect(up.steps.filter(({ type }) => type.startsWith("local-serving:"))).toEqual([]);
  });

  it("previews and applies one machine, and has no change in the next preview", async () => {
    declare();
    await expectOneMachine(workspace, parts);
  });
});
