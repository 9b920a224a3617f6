import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { MachinePlan } from "../../components/plan/types";
import { BRIDGE, fileOf, planned } from "../fixtures/services";

const textOf = (machine: MachinePlan, role: string) => fileOf(machine, role).text;
const WATCHED = { bridge: BRIDGE, instanceA: { gpuMemoryUtilization: 0.3, port: 8000 }, memoryFloorGiB: 3 };

interface Job {
  job_name: string;
  metrics_path: string;
  static_configs: { targets: string[]; labels: Record<string, string> }[];
}

const jobsIn = (text: string) =>
  (parse(text) as { scrape_configs: Job[] }).scrape_configs.map(({ job_name, metrics_path, static_configs }) => [
    job_name,
    `${static_configs[0]?.targets.join()}${metrics_path}`,
    static_configs[0]?.labels.server,
  ]);

describe("without `monitoring`", () => {
  const machine = planned({ bridge: BRIDGE });

  it("nothing watches, and the bridge collects no figures", () => {
    expect(machine.monitoring).toBeNull();
    expect(textOf(machine, "bridge-config")).not.toContain("prometheus");
    expect(machine.ledger.lines.map(({ name }) => name)).not.toContain("monitoring");
  });
});

describe("`monitoring: true`", () => {
  const machine = planned({ ...WATCHED, monitoring: true });
  const containers = machine.monitoring?.containers ?? [];
  const named = (name: string) => containers.find((each) => each.name === name);

  it("asks each server, the bridge and the machine's memory, as their containers are reached", () => {
    expect(jobsIn(textOf(machine, "prometheus-config"))).toEqual([
      ["vllm-b", "vllm-model-8001:8001/metrics", "b"],
      ["vllm-instance-a", "host.docker.internal:8000/metrics", "instance-a"],
      ["bridge", "litellm-8787:8787/metrics/", undefined],
      ["machine", "node-exporter:9100/metrics", undefined],
    ]);
    expect(parse(textOf(machine, "bridge-config"))).toMatchObject({
      litellm_settings: { callbacks: ["prometheus"], require_auth_for_metrics_endpoint: false },
    });
  });

  it("runs three pinned containers, of which two are published, on loopback", () => {
    expect(containers.map(({ name, role, gpus, ports }) => [name, role, gpus, ports])).toEqual([
      ["node-exporter", "monitoring", null, []],
      ["prometheus", "monitoring", null, [{ ip: "127.0.0.1", host: 9090, container: 9090 }]],
      ["grafana", "monitoring", null, [{ ip: "127.0.0.1", host: 3000, container: 3000 }]],
    ]);
    for (const { image } of containers) expect(image).toMatch(/:v?\d+\.\d+\.\d+@sha256:[0-9a-f]{64}$/);
    expect(machine.containers).toEqual(expect.arrayContaining([...containers]));
    expect(machine.endpoints).toEqual(
      expect.arrayContaining([
        { key: "prometheus", name: "prometheus", url: "http://127.0.0.1:9090" },
        { key: "grafana", name: "grafana", url: "http://127.0.0.1:3000" },
      ]),
    );
  });

  it("keeps figures for 30 days in a volume, and lets nobody log in to Grafana", () => {
    expect(named("prometheus")?.command).toEqual([
      "--config.file=/etc/prometheus/prometheus.yml",
      "--storage.tsdb.path=/prometheus",
      "--storage.tsdb.retention.time=30d",
    ]);
    expect(named("prometheus")?.mounts).toContainEqual({
      type: "volume",
      source: "local-serving-prometheus-data",
      target: "/prometheus",
      readOnly: false,
    });
    expect(named("grafana")?.env).toMatchObject({
      GF_AUTH_ANONYMOUS_ORG_ROLE: "Viewer",
      GF_AUTH_BASIC_ENABLED: "false",
      GF_AUTH_DISABLE_LOGIN_FORM: "true",
      GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION: "true",
    });
  });

  it("draws the machine's own floor, and leaves no placeholder", () => {
    const dashboard = textOf(machine, "grafana-dashboard");
    expect(JSON.parse(dashboard)).toMatchObject({ title: "local-serving: dgx", editable: false });
    expect(dashboard).toContain("vector(3 * 1024 * 1024 * 1024)");
    expect(dashboard).not.toContain("$");
    const { panels } = JSON.parse(dashboard) as { panels: { targets: { datasource: { uid: string } }[] }[] };
    const source = parse(textOf(machine, "grafana-datasource")) as { datasources: { uid: string; url: string }[] };
    expect(source.datasources).toMatchObject([{ uid: "local-serving", url: "http://prometheus:9090" }]);
    for (const { targets } of panels)
      for (const { datasource } of targets) expect(datasource.uid).toBe(source.datasources[0]?.uid);
  });

  it("starts a container anew when a file that it reads once has changed, and no other", () => {
    const other = planned({ ...WATCHED, memoryFloorGiB: 4, monitoring: true }).monitoring?.containers ?? [];
    const changed = other.filter((each) => JSON.stringify(each) !== JSON.stringify(named(each.name)));
    expect(changed.map(({ name }) => name)).toEqual(["grafana"]);
  });

  it("counts in the ledger, by default or as measured", () => {
    const line = (monitoring: unknown) =>
      planned({ monitoring }).ledger.lines.find(({ name }) => name === "monitoring");
    expect(line(true)).toMatchObject({ gib: 0.8, basis: "default" });
    expect(line({ memoryGiB: 0.4 })).toMatchObject({ gib: 0.4, basis: "measured", source: "monitoring.memoryGiB" });
    expect(line("scrape")).toBeUndefined();
  });

  it("leaves out whom no container reaches: instance A on loopback, and a bridge that wants its key", () => {
    const closed = planned({
      instanceA: { gpuMemoryUtilization: 0.3, listen: "127.0.0.1" },
      bridge: { ...BRIDGE, keyVariable: "BRIDGE_KEY" },
      monitoring: true,
    });
    expect(jobsIn(textOf(closed, "prometheus-config")).map(([name]) => name)).toEqual(["vllm-b", "machine"]);
    expect(parse(textOf(closed, "bridge-config"))).toMatchObject({
      litellm_settings: { require_auth_for_metrics_endpoint: true },
    });
  });
});

describe("`monitoring: scrape`", () => {
  const machine = planned({ ...WATCHED, monitoring: "scrape" });

  it("writes only a file, with targets as the machine reaches them", () => {
    expect(machine.monitoring?.containers).toEqual([]);
    const text = textOf(machine, "scrape-targets");
    expect(text).toMatch(/^# Written by local-serving .* `scrape_config_files` /);
    expect(jobsIn(text)).toEqual([
      ["vllm-b", "127.0.0.1:8001/metrics", "b"],
      ["vllm-instance-a", "127.0.0.1:8000/metrics", "instance-a"],
      ["bridge", "127.0.0.1:8787/metrics/", undefined],
    ]);
    expect(machine.files.map(({ role }) => role)).not.toContain("prometheus-config");
  });
});
