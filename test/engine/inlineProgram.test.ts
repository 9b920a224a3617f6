import { afterAll, beforeAll, expect, it } from "vitest";
import { stackInput } from "../fixtures/machine";
import { run } from "../layers/run";
import { packed } from "../package/packed";
import { describeEngine } from "./available";
import { openForeign } from "./foreignProgram";
import type { Workspace } from "./workspace";

/** Previews a program with the settings that it is given. */
const PROGRAM = `
const { LocalWorkspace } = require("@pulumi/pulumi/automation");
const { LocalServing } = require("local-serving");
const program = async () => {
  const { endpoints } = new LocalServing("serving", { settings: JSON.parse(process.argv[2]) });
  return { endpoints };
};
(async () => {
  const given = { stackName: "inline", projectName: "inline", program };
  const stack = await LocalWorkspace.createOrSelectStack(given);
  await stack.preview({ onOutput: console.log }).catch(() => console.log("failed"));
})();
`;

/** A preview here takes some five seconds. */
const LIMIT_SECONDS = 60;

describeEngine("an inline program of the Automation API", () => {
  let workspace: Workspace;

  const preview = (settings: unknown) =>
    run("node", ["inline.js", JSON.stringify(settings)], {
      cwd: workspace.project,
      env: workspace.env,
      limitSeconds: LIMIT_SECONDS,
    });

  beforeAll(async () => {
    workspace = await openForeign(await packed(), "program", { "inline.js": PROGRAM });
  });
  afterAll(() => workspace.close());

  it("ends with the faults of its settings", async () => {
    const { code, stdout } = await preview({ dgx: { totalGB: 121.63 } });
    expect(code, stdout).toBe(0);
    expect(stdout).toMatch(/error: settings of serving: \d+ faults\n(?: +settings\..+\n)+/);
    expect(stdout).toContain("settings.dgx.totalGB: Unknown key");
    expect(stdout.trimEnd().endsWith("failed"), stdout).toBe(true);
  });

  it("ends only once everything below the component is declared", async () => {
    const { code, stdout } = await preview(stackInput().machines);
    expect(code, stdout).toBe(0);
    expect(stdout).toContain("docker:index:Container dgx-b create");
    expect(stdout).toContain("command:local:Command dgx-applied-plan create");
  });
});
