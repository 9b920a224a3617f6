import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { MachinePlan } from "../../components/plan/types";
import { BRIDGE, fileOf, planned } from "../fixtures/services";

const textOf = (machine: MachinePlan, role: string) => fileOf(machine, role).text;
const SCRAPED = {
  monitoring: "scrape",
  bridge: BRIDGE,
  instanceA: { gpuMemoryUtilization: 0.3, port: 8000 },
  memoryFloorGiB: 3,
};

interface Job {
  job_name: string;
  metrics_path: string;
  static_configs: { targets: string[]; labels: Record<string, string> }[];
}

const jobsIn = (machine: MachinePlan) =>
  (parse(textOf(machine, "scrape-targets")) as { scrape_configs: Job[] }).scrape_configs.map(
    ({ job_name, metrics_path, static_configs }) => [
      job_name,
      `${static_configs[0]?.targets.join()}${metrics_path}`,
      static_configs[0]?.labels,
    ],
  );

describe("without `monitoring`", () => {
  it("nothing is written, and the bridge collects no figures", () => {
    const machine = planned({ bridge: BRIDGE });
    const roles = machine.files.map(({ role }) => role);
    expect(roles.filter((role) => ["scrape-targets", "grafana-dashboard"].includes(role))).toEqual(
      [],
    );
    expect(textOf(machine, "bridge-config")).not.toContain("prometheus");
  });
});

describe("`monitoring: scrape`", () => {
  const machine = planned(SCRAPED);

  it("starts no container, and takes no memory", () => {
    const without = planned({ ...SCRAPED, monitoring: undefined });
    expect(machine.containers.map(({ name }) => name)).toEqual(
      without.containers.map(({ name }) => name),
    );
    expect(machine.ledger).toEqual(without.ledger);
  });

  it("names each server and the bridge as the machine reaches them", () => {
    expect(fileOf(machine, "scrape-targets")).toMatchObject({
      path: "/home/me/.local/share/local-serving/dgx/monitoring/scrape.yaml",
      mode: "0644",
    });
    expect(textOf(machine, "scrape-targets")).toMatch(
      /^# Written by local-serving .* `scrape_config_files` /,
    );
    expect(jobsIn(machine)).toEqual([
      ["vllm-b", "127.0.0.1:8001/metrics", { machine: "dgx", server: "b" }],
      ["vllm-instance-a", "127.0.0.1:8000/metrics", { machine: "dgx", server: "instance-a" }],
      ["bridge", "127.0.0.1:8787/metrics/", { machine: "dgx" }],
    ]);
    expect(parse(textOf(machine, "bridge-config"))).toMatchObject({
      litellm_settings: {
        callbacks: ["prometheus"],
        custom_prometheus_metadata_labels: ["metadata.user_agent"],
        require_auth_for_metrics_endpoint: false,
      },
    });
  });

  it("leaves out a bridge that wants its key, and lets nobody see its figures without", () => {
    const keyed = planned({ ...SCRAPED, bridge: { ...BRIDGE, keyVariable: "BRIDGE_KEY" } });
    expect(jobsIn(keyed).map(([name]) => name)).toEqual(["vllm-b", "vllm-instance-a"]);
    expect(parse(textOf(keyed, "bridge-config"))).toMatchObject({
      litellm_settings: { require_auth_for_metrics_endpoint: true },
    });
  });

  it("has a dashboard with the machine's own floor, for whatever data source is chosen", () => {
    const text = textOf(machine, "grafana-dashboard");
    const dashboard = JSON.parse(text);
    expect(dashboard).toMatchObject({
      title: "local-serving: dgx",
      templating: { list: [{ name: "datasource" }] },
    });
    expect(text).toContain("vector(3 * 1024 * 1024 * 1024)");
    expect(text).not.toMatch(/\$(machine|floor)/);
    const panels: { title: string; targets: { expr: string }[] }[] = dashboard.panels;
    const ofGpu = panels.filter(({ title }) => title.startsWith("GPU "));
    expect(ofGpu.map(({ title, targets }) => [title, targets[0]?.expr])).toEqual([
      ["GPU load", "DCGM_FI_DEV_GPU_UTIL / 100"],
      ["GPU clock", "DCGM_FI_DEV_SM_CLOCK * 1000000"],
      ["GPU heat", "DCGM_FI_DEV_GPU_TEMP"],
      ["GPU power", "DCGM_FI_DEV_POWER_USAGE"],
    ]);
    for (const { targets } of dashboard.panels)
      for (const { datasource } of targets) expect(datasource.uid).toMatch(/^\$\{datasource\}$/);
  });
});
