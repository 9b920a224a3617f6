import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { run } from "../layers/run";
import { temporaryFolder } from "../layers/temporaryFolder";
import { describeEngineWithDocker } from "./available";
import { TOTAL_GIB } from "./stackConfig";
import { Workspace } from "./workspace";

describeEngineWithDocker("two machines, one of them away", () => {
  let workspace: Workspace;
  const unique = `away-${process.pid}`;

  beforeAll(async () => {
    const common = {
      totalGiB: TOTAL_GIB,
      operatingSystemGiB: 1,
      instanceA: "none",
      network: unique,
    };
    const machines = {
      away: { ...common, dockerHost: "ssh://me@127.0.0.1:9" },
      here: { ...common, stateDirectory: temporaryFolder("here-") },
    };
    workspace = await Workspace.open({ config: { "local-serving:machines": machines } });
  });
  afterAll(() => workspace?.close());

  it("the other one is finished, and the one that is away is named with the command to try", async () => {
    const up = await workspace.up("--continue-on-error");
    expect(up.code).not.toBe(0);
    const made = up.steps.filter(({ op }) => op === "create").map(({ name }) => name);
    expect(made).toEqual(expect.arrayContaining(["here-network", "here-applied-plan"]));
    expect(up.stdout).toContain("here-applied-plan created");
    expect(up.stdout).toContain("away-network **creating failed**");
    expect(up.stdout).toContain("away-applied-plan **creating failed**");
    expect(up.stdout).toContain(
      "away (ssh://me@127.0.0.1:9) can't be reached over ssh: ssh: connect to host 127.0.0.1 port 9: Connection refused. Try `ssh -p 9 me@127.0.0.1`. Its own resources will fail; the update of other machines continues.",
    );
    const state = await workspace.state();
    expect(state).toContain("command:local:Command::here-applied-plan");
    expect(state).not.toContain("Command::away-applied-plan");
  });

  it("`serving up` goes on with it in the same way, and touches nothing else", async () => {
    const engine = join(workspace.project, "bundle/serving.cjs");
    const again = await run("node", [engine, "up", "--yes", "--stack", workspace.stack], {
      cwd: workspace.project,
      env: workspace.env,
    });
    expect(again.code).not.toBe(0);
    const update = again.stdout.slice(again.stdout.indexOf("Updating"));
    expect(update).toContain("away-network **creating failed**");
    expect(update).toContain("away-applied-plan **creating failed**");
    expect(update).not.toMatch(/here-\S+ (creating|updating|deleting)/);
  });
});
