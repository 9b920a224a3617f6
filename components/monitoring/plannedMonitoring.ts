import { stringify } from "yaml";
import { defined } from "../../faults/defined";
import type { BridgePlan } from "../bridge/plannedBridge";
import { contentHash } from "../host/text";
import { CONFIG_LABEL, MACHINE_LABEL, type Mount, type PlannedContainer } from "../planned/container";
import type { LedgerLine } from "../planned/facts";
import type { FileRole, PlannedFile } from "../planned/file";
import { HOST_FROM_CONTAINER, isLoopback, originOf, type Reach, type Upstream } from "../planned/reach";
import type { MachineSettings } from "../settings/machine";
import { monitoringContainers } from "../settings/monitoring";
import dashboard from "./dashboard.json";

/** What watches a machine's figures: three containers, or a file of targets for a Prometheus of the operator's. */
export interface MonitoringPlan {
  readonly containers: readonly PlannedContainer[];
  /** Prometheus's figures; kept when the stack goes. */
  readonly dataVolume: string;
  readonly files: readonly PlannedFile<FileRole>[];
  readonly reach: readonly Reach[];
}

/** Prometheus took 0.1 GiB with these targets for an hour (measured on x64); Grafana asks for 0.5 by its own documentation. */
const MEMORY_GIB = 0.8;

/** Ports inside the containers, which are the programs' own. */
const PORTS = { prometheus: 9090, grafana: 3000, nodeExporter: 9100 };
const NODE_EXPORTER = "node-exporter";

const SCRAPE = { scrape_interval: "15s" };

/** Nobody logs in: whoever reaches the port may look, and nothing is asked of other hosts. */
const GRAFANA = {
  GF_ANALYTICS_CHECK_FOR_PLUGIN_UPDATES: "false",
  GF_ANALYTICS_CHECK_FOR_UPDATES: "false",
  GF_ANALYTICS_REPORTING_ENABLED: "false",
  GF_AUTH_ANONYMOUS_ENABLED: "true",
  GF_AUTH_ANONYMOUS_ORG_ROLE: "Viewer",
  GF_AUTH_BASIC_ENABLED: "false",
  GF_AUTH_DISABLE_LOGIN_FORM: "true",
  GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH: "/etc/grafana/local-serving.json",
  GF_NEWS_NEWS_FEED_ENABLED: "false",
  GF_PLUGINS_PREINSTALL_DISABLED: "true",
  GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION: "true",
};

/** The monitoring of one machine; `null` without any. `known` are its servers, and `folder` is where its files go. */
export function plannedMonitoring(
  machineName: string,
  machine: MachineSettings,
  known: readonly Upstream[],
  bridge: BridgePlan | null,
  folder: string,
): MonitoringPlan | null {
  if (machine.monitoring === undefined) return null;
  const settings = monitoringContainers(machine.monitoring);
  const dataVolume = `${machine.network}-prometheus-data`;
  const file = (role: FileRole, name: string, text: string): PlannedFile<FileRole> => ({
    ...{ role, path: `${folder}/monitoring/${name}`, mode: "0644", text },
  });
  const outside = settings === undefined;
  const scraped = { scrape_configs: scrapeConfigs(machineName, known, bridge, outside) };
  if (outside) {
    const files = [file("scrape-targets", "scrape.yaml", `${SCRAPE_ABOUT}\n${stringify(scraped)}`)];
    return { containers: [], dataVolume, files, reach: [] };
  }
  const config = file("prometheus-config", "prometheus.yaml", stringify({ global: SCRAPE, ...scraped }));
  const source = file("grafana-datasource", "datasource.yaml", stringify(DATASOURCE));
  const board = file("grafana-dashboard", "dashboard.json", dashboardOf(machineName, machine));
  const { prometheus, grafana, nodeExporter } = settings;
  const programs: Program[] = [
    {
      ...{ name: NODE_EXPORTER, image: nodeExporter.image, port: PORTS.nodeExporter, health: "/metrics" },
      // /proc/meminfo in a container is the machine's.
      command: ["--collector.disable-defaults", "--collector.meminfo"],
    },
    {
      ...{ name: "prometheus", image: prometheus.image, port: PORTS.prometheus, health: "/-/healthy" },
      command: [
        "--config.file=/etc/prometheus/prometheus.yml",
        "--storage.tsdb.path=/prometheus",
        `--storage.tsdb.retention.time=${prometheus.retentionDays}d`,
      ],
      published: prometheus,
      files: [[config, "/etc/prometheus/prometheus.yml"]],
      volume: { type: "volume", source: dataVolume, target: "/prometheus", readOnly: false },
    },
    {
      ...{ name: "grafana", image: grafana.image, port: PORTS.grafana, health: "/api/health" },
      env: GRAFANA,
      published: grafana,
      files: [
        [source, "/etc/grafana/provisioning/datasources/local-serving.yaml"],
        [board, GRAFANA.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH],
      ],
    },
  ];
  return {
    containers: programs.map((program) => container(machineName, machine, program)),
    dataVolume,
    files: [config, source, board],
    reach: programs.flatMap(({ name, published }): Reach[] =>
      published === undefined ? [] : [{ key: name, name, address: published.listen, port: published.port, path: "" }],
    ),
  };
}

/** The monitoring's line in the memory ledger. */
export function monitoringMemory(machine: MachineSettings): LedgerLine[] {
  const settings = monitoringContainers(machine.monitoring);
  if (settings === undefined) return [];
  const source = "Prometheus measured on another machine, Grafana as its documentation asks";
  return settings.memoryGiB === undefined
    ? [{ name: "monitoring", gib: MEMORY_GIB, basis: "default", source }]
    : [{ name: "monitoring", gib: settings.memoryGiB, basis: "measured", source: "monitoring.memoryGiB" }];
}

const SCRAPE_ABOUT =
  "# Written by local-serving from `monitoring: scrape`. Name it in `scrape_config_files` of your Prometheus's configuration.";

const DATASOURCE = {
  apiVersion: 1,
  datasources: [
    {
      name: "Prometheus",
      // The dashboard's panels name it.
      uid: "local-serving",
      type: "prometheus",
      access: "proxy",
      url: `http://prometheus:${PORTS.prometheus}`,
      isDefault: true,
    },
  ],
};

/** What Prometheus asks, one in our network or, `outside` it, one of the operator's on the machine. */
function scrapeConfigs(machine: string, known: readonly Upstream[], bridge: BridgePlan | null, outside: boolean) {
  const job = (name: string, path: string, origin: string, server?: string) => ({
    job_name: name,
    metrics_path: path,
    static_configs: [{ targets: [new URL(origin).host], labels: defined({ machine, server }) }],
  });
  const servers = known.filter(
    ({ kind, container, address }) =>
      kind !== "simple-server" && (outside || container !== undefined || !isLoopback(address)),
  );
  // LiteLLM with a key shows its figures to nobody without it, and Prometheus has none.
  const open = bridge?.key === null ? [bridge] : [];
  return [
    ...servers.map((each) =>
      job(`vllm-${each.key}`, "/metrics", outside ? originOf(each) : each.fromContainer, each.key),
    ),
    // Without the slash at its end LiteLLM answers with another address (1.103.0).
    ...open.map((each) => job("bridge", "/metrics/", originOf(each, outside ? undefined : each.container.name))),
    ...(outside ? [] : [job("machine", "/metrics", `http://${NODE_EXPORTER}:${PORTS.nodeExporter}`)]),
  ];
}

/** The dashboard with this machine's name and the floor under its memory, which no metric tells. */
function dashboardOf(machine: string, { memoryFloorGiB }: MachineSettings): string {
  const text = JSON.stringify(dashboard, null, 2);
  return `${text.replaceAll("$machine", machine).replaceAll("$floor", String(memoryFloorGiB))}\n`;
}

/** What tells one container from the others. */
interface Program {
  readonly name: string;
  readonly image: string;
  /** Inside the container, where `health` is asked. */
  readonly port: number;
  readonly health: string;
  readonly command?: readonly string[];
  readonly env?: PlannedContainer["env"];
  readonly published?: { readonly listen: string; readonly port: number };
  /** Its files with their paths inside. */
  readonly files?: readonly (readonly [PlannedFile, string])[];
  readonly volume?: Mount;
}

function container(machineName: string, machine: MachineSettings, program: Program): PlannedContainer {
  const { name, image, port, health, command = [], env = {}, published, files = [], volume } = program;
  return {
    role: "monitoring",
    resource: `${machineName}-${name}`,
    ...{ name, image, command, entrypoint: null, env, secretEnv: [] },
    ports: published === undefined ? [] : [{ ip: published.listen, host: published.port, container: port }],
    mounts: [
      ...files.map(([{ path }, target]) => ({ type: "bind", source: path, target, readOnly: true }) as const),
      ...(volume === undefined ? [] : [volume]),
    ],
    gpus: null,
    ipc: "private",
    network: machine.network,
    hosts: [`${HOST_FROM_CONTAINER}:host-gateway`],
    restart: "unless-stopped",
    healthcheck: {
      // All three images have busybox.
      test: ["CMD", "wget", "-q", "-O", "/dev/null", `http://127.0.0.1:${port}${health}`],
      intervalSeconds: 30,
      timeoutSeconds: 5,
      startPeriodSeconds: 60,
      retries: 4,
    },
    ulimits: [],
    stopGraceSeconds: 30,
    // Each reads its files once: another text is another container.
    labels: { [MACHINE_LABEL]: machineName, [CONFIG_LABEL]: contentHash(files.map(([{ text }]) => text).join("")) },
  };
}
