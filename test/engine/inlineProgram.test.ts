import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { run } from "../layers/run";
import { packed } from "../package/packed";
import { describeEngine } from "./available";
import { openForeign } from "./foreignProgram";
import type { Workspace } from "./workspace";

/** Prints why the preview of a program failed. */
const PROGRAM = `
const { LocalWorkspace } = require("@pulumi/pulumi/automation");
const { LocalServing } = require("local-serving");
const program = async () => {
  const { endpoints } = new LocalServing("serving", { settings: { dgx: { totalGB: 121.63 } } });
  return { endpoints };
};
(async () => {
  const given = { stackName: "inline", projectName: "inline", program };
  const stack = await LocalWorkspace.createOrSelectStack(given);
  await stack.preview().then(
    () => console.log("previewed"),
    ({ message }) => console.log(message),
  );
})();
`;

/** A preview here takes some five seconds. */
const LIMIT_SECONDS = 60;

describeEngine("an inline program of the Automation API", () => {
  let workspace: Workspace;

  beforeAll(async () => {
    workspace = await openForeign(await packed(), "program", {});
  });
  afterAll(() => workspace.close());

  it("ends with the faults of its settings", async () => {
    writeFileSync(join(workspace.project, "inline.js"), PROGRAM);
    const { stdout } = await run("node", ["inline.js"], {
      cwd: workspace.project,
      env: workspace.env,
      limitSeconds: LIMIT_SECONDS,
    });
    expect(stdout).toMatch(
      /error: settings of serving: \d+ faults\n(?: +settings\..+\n)* +settings\.dgx\.totalGB: Unknown key/,
    );
  });
});
