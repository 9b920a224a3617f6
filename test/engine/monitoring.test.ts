import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freePort } from "../layers/freePort";
import { describeEngineWithDocker } from "./available";
import { TOTAL_GIB } from "./stackConfig";
import { Workspace } from "./workspace";

describeEngineWithDocker("monitoring on a real machine", () => {
  let workspace: Workspace;
  let network: string;

  const configOf = (more: Record<string, unknown>) => ({
    "local-serving:machines": {
      dgx: {
        totalGiB: TOTAL_GIB,
        network,
        operatingSystemGiB: 1,
        instanceA: { gpuMemoryUtilization: 0.1 },
        ...more,
      },
    },
  });
  const folder = () => join(workspace.home, ".local/share/local-serving/dgx/monitoring");

  beforeAll(async () => {
    network = `net-m${await freePort()}`;
    workspace = await Workspace.open({ config: configOf({ monitoring: "scrape" }) });
  });
  afterAll(() => workspace.close());

  it("is two files, policies and all, and a second preview changes nothing", async () => {
    const up = await workspace.up("--policy-pack", join(workspace.project, "policies"));
    expect(up, up.stdout + up.stderr).toMatchObject({ code: 0 });
    expect(readFileSync(join(folder(), "scrape.yaml"), "utf8")).toContain(
      "job_name: vllm-instance-a",
    );
    // Prometheus and Grafana run as users of their own.
    for (const file of ["scrape.yaml", "dashboard.json"])
      expect(statSync(join(folder(), file)).mode & 0o777).toBe(0o644);
    const again = await workspace.preview("--refresh", "--diff", "--expect-no-changes");
    expect(again, again.stdout).toMatchObject({ code: 0, steps: [] });
  });

  it("is gone without the setting", async () => {
    workspace.configure(configOf({}));
    const up = await workspace.up();
    expect(up, up.stdout + up.stderr).toMatchObject({ code: 0 });
    expect(existsSync(folder())).toBe(false);
  });
});
