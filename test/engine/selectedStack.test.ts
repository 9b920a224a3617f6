import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { selectedStack } from "../../cli/stack/selectedStack";
import { mustRun } from "../layers/run";
import { temporaryFolder } from "../layers/temporaryFolder";
import { describeEngine } from "./available";
import { engineEnvironment } from "./environment";

describeEngine("the stack that Pulumi has selected", () => {
  it("is read where the CLI keeps it, for each path of a project", async () => {
    const layer = inject("engineLayer");
    if (layer.missing !== undefined) throw new Error(layer.missing);
    const root = realpathSync(temporaryFolder("selected-stack-"));
    const env = engineEnvironment(root, layer);
    const [project, link] = [join(root, "project"), join(root, "link")];
    mkdirSync(project);
    symlinkSync(project, link);
    writeFileSync(join(project, "Pulumi.yaml"), "name: local-serving\nruntime: nodejs\n");
    const stack = (PWD: string, ...args: readonly string[]) =>
      mustRun(layer.pulumi, ["stack", ...args], { cwd: project, env: { ...env, PWD } });
    const selected = (PWD: string, more = {}) => selectedStack(project, { ...env, PWD, ...more });
    expect(selected(project)).toBeUndefined();
    await stack(project, "select", "--create", "prod");
    await stack(link, "select", "--create", "lab");
    expect([selected(project), selected(link)]).toEqual(["prod", "lab"]);
    expect(await stack(project, "ls")).toContain("prod*");
    const PULUMI_STACK = "lab";
    const listed = await mustRun(layer.pulumi, ["stack", "ls"], {
      cwd: project,
      env: { ...env, PWD: project, PULUMI_STACK },
    });
    expect([listed.includes("lab*"), selected(project, { PULUMI_STACK })]).toEqual([true, "lab"]);
    await stack(project, "unselect");
    expect(selected(project)).toBeUndefined();
  });
});
