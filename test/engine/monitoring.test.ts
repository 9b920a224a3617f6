import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { pinnedImage } from "../docker/image";
import { freePort } from "../layers/freePort";
import { mustRun } from "../layers/run";
import { describeEngineWithDocker } from "./available";
import { TOTAL_GIB } from "./stackConfig";
import { Workspace } from "./workspace";

/** Stands for programs of which no image is reached here: it stays up, and that is all. */
const WAIT = "#!/bin/sh\ntrap 'exit 0' TERM\nwhile :; do sleep 1; done\n";

describeEngineWithDocker("monitoring on a real machine", () => {
  let workspace: Workspace;
  let network: string;
  let monitoring: Record<string, { image: string; port?: number }>;

  const configOf = (given: unknown) => ({
    "local-serving:machines": {
      dgx: { totalGiB: TOTAL_GIB, network, operatingSystemGiB: 1, instanceA: "none", monitoring: given },
    },
  });
  const folder = () => join(workspace.home, ".local/share/local-serving/dgx/monitoring");
  const running = async () =>
    (await mustRun("docker", ["ps", "--filter", `network=${network}`, "--format", "{{.Names}}"])).split("\n").sort();

  beforeAll(async () => {
    const image = async (repository: string, tag: string) => {
      const made = { repository, tag, programs: { program: WAIT }, entrypoint: ["program"], command: ["start"] };
      return (await pinnedImage(made)).reference;
    };
    const port = await freePort();
    network = `net-m${port}`;
    monitoring = {
      prometheus: { image: await image("prom/prometheus", "v3.14.0"), port },
      grafana: { image: await image("grafana/grafana", "13.1.1"), port: await freePort() },
      nodeExporter: { image: await image("prom/node-exporter", "v1.11.1") },
    };
    workspace = await Workspace.open({ config: configOf(monitoring) });
  });
  afterAll(async () => {
    await workspace.close();
    await mustRun("docker", ["volume", "rm", "--force", `${network}-prometheus-data`]);
  });

  it("is made by `up`, policies and all, and a second preview changes nothing", async () => {
    const up = await workspace.up("--policy-pack", join(workspace.project, "policies"));
    expect(up, up.stdout + up.stderr).toMatchObject({ code: 0 });
    expect(await running()).toEqual(["grafana", "node-exporter", "prometheus"]);
    const again = await workspace.preview("--refresh", "--diff", "--expect-no-changes");
    expect(again, again.stdout).toMatchObject({ code: 0, steps: [] });
    expect(await workspace.outputs()).toMatchObject({
      endpoints: { dgx: { prometheus: `http://127.0.0.1:${monitoring.prometheus?.port}` } },
    });
  });

  it.each([
    ["prometheus", "/etc/prometheus/prometheus.yml", "prometheus.yaml"],
    ["grafana", "/etc/grafana/provisioning/datasources/local-serving.yaml", "datasource.yaml"],
    ["grafana", "/etc/grafana/local-serving.json", "dashboard.json"],
  ])("gives %s its file %s, for whichever user it runs as", async (container, inside, file) => {
    const seen = await mustRun("docker", ["exec", "--user", "472", container, "cat", inside]);
    expect(`${seen}\n`).toBe(readFileSync(join(folder(), file), "utf8"));
  });

  it("becomes a file of targets by `scrape`, and keeps the figures", async () => {
    workspace.configure(configOf("scrape"));
    const up = await workspace.up();
    expect(up, up.stdout + up.stderr).toMatchObject({ code: 0 });
    expect(await running()).toEqual([""]);
    expect(readFileSync(join(folder(), "scrape.yaml"), "utf8")).toMatch(/^# .*\nscrape_configs: \[\]\n$/);
    expect(existsSync(join(folder(), "dashboard.json"))).toBe(false);
    const volume = await mustRun("docker", ["volume", "ls", "--quiet", "--filter", `name=${network}-prometheus-data`]);
    expect(volume).toBe(`${network}-prometheus-data`);
  });
});
