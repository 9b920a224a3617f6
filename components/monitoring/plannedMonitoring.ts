import { stringify } from "yaml";
import type { BridgePlan } from "../bridge/plannedBridge";
import { contentHash } from "../host/text";
import { CONFIG_LABEL, MACHINE_LABEL, type PlannedContainer } from "../planned/container";
import type { LedgerLine } from "../planned/facts";
import type { FileRole, PlannedFile } from "../planned/file";
import { HOST_FROM_CONTAINER, isLoopback, originOf, type Reach, type Upstream } from "../planned/reach";
import type { MachineSettings } from "../settings/machine";
import { type MonitoringSettings, monitoringContainers } from "../settings/monitoring";
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

const SCRAPE_SECONDS = 15;

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
  const settings = monitoringContainers(machine.monitoring);
  const dataVolume = `${machine.network}-prometheus-data`;
  const file = (role: FileRole, name: string, text: string): PlannedFile<FileRole> => ({
    ...{ role, path: `${folder}/monitoring/${name}`, mode: "0644", text },
  });
  const servers = known.filter(({ kind }) => kind !== "simple-server");
  // LiteLLM with a key shows its figures to nobody without it, and Prometheus has none.
  const open = bridge?.key === null ? [bridge] : [];
  if (settings === undefined) {
    if (machine.monitoring === undefined) return null;
    const outside = [
      ...servers.map((each) => vllm(machineName, each, originOf(each))),
      ...open.map((each) => litellm(machineName, originOf(each))),
    ];
    const text = stringify({ scrape_configs: outside });
    const files = [file("scrape-targets", "scrape.yaml", `${SCRAPE_ABOUT}\n${text}`)];
    return { containers: [], dataVolume, files, reach: [] };
  }
  const targets = [
    ...servers
      .filter(({ container, address }) => container !== undefined || !isLoopback(address))
      .map((each) => vllm(machineName, each, each.fromContainer)),
    ...open.map(({ container, port }) => litellm(machineName, `http://${container.name}:${port}`)),
    job("machine", "/metrics", `http://${NODE_EXPORTER}:${PORTS.nodeExporter}`, { machine: machineName }),
  ];
  const config = { global: { scrape_interval: `${SCRAPE_SECONDS}s` }, scrape_configs: targets };
  const prometheus = file("prometheus-config", "prometheus.yaml", stringify(config));
  const grafana = [
    file("grafana-datasource", "datasource.yaml", stringify(DATASOURCE)),
    file("grafana-dashboard", "dashboard.json", dashboardOf(machineName, machine)),
  ] as const;
  const { containers, reach } = inContainers(machineName, machine, settings, { prometheus, grafana, dataVolume });
  return { containers, dataVolume, files: [prometheus, ...grafana], reach };
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

const vllm = (machine: string, { key }: Upstream, origin: string) =>
  job(`vllm-${key}`, "/metrics", origin, { machine, server: key });

/** Without the slash at its end LiteLLM answers with another address (1.103.0). */
const litellm = (machine: string, origin: string) => job("bridge", "/metrics/", origin, { machine });

function job(name: string, path: string, origin: string, labels: Readonly<Record<string, string>>) {
  const targets = [new URL(origin).host];
  return { job_name: name, metrics_path: path, static_configs: [{ targets, labels }] };
}

/** The dashboard with this machine's name and the floor under its memory, which no metric tells. */
function dashboardOf(machine: string, { memoryFloorGiB }: MachineSettings): string {
  const text = JSON.stringify(dashboard, null, 2);
  return `${text.replaceAll("$machine", machine).replaceAll("$floor", String(memoryFloorGiB))}\n`;
}

interface Parts {
  readonly prometheus: PlannedFile<FileRole>;
  readonly grafana: readonly [PlannedFile<FileRole>, PlannedFile<FileRole>];
  readonly dataVolume: string;
}

function inContainers(machineName: string, machine: MachineSettings, settings: MonitoringSettings, parts: Parts) {
  const { prometheus, grafana, nodeExporter } = settings;
  const container = (
    name: string,
    image: string,
    port: number,
    health: string,
    own: Pick<PlannedContainer, "command" | "env" | "ports" | "mounts">,
    files: readonly PlannedFile[] = [],
  ): PlannedContainer => ({
    role: "monitoring",
    resource: `${machineName}-${name}`,
    ...{ name, image, entrypoint: null, secretEnv: [] },
    ...own,
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
    labels: {
      [MACHINE_LABEL]: machineName,
      // Each reads its files once: another text is another container.
      ...(files.length === 0 ? {} : { [CONFIG_LABEL]: contentHash(files.map(({ text }) => text).join("")) }),
    },
  });
  const mounted = ({ path }: PlannedFile, target: string) =>
    ({ type: "bind", source: path, target, readOnly: true }) as const;
  const published = ({ listen, port }: { readonly listen: string; readonly port: number }, inside: number) => [
    { ip: listen, host: port, container: inside },
  ];
  const [datasource, board] = parts.grafana;
  const retention = `--storage.tsdb.retention.time=${prometheus.retentionDays}d`;
  const { dataVolume: source } = parts;
  const containers = [
    container(NODE_EXPORTER, nodeExporter.image, PORTS.nodeExporter, "/metrics", {
      // /proc/meminfo in a container is the machine's.
      command: ["--collector.disable-defaults", "--collector.meminfo"],
      env: {},
      ports: [],
      mounts: [],
    }),
    container(
      "prometheus",
      prometheus.image,
      PORTS.prometheus,
      "/-/healthy",
      {
        command: ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus", retention],
        env: {},
        ports: published(prometheus, PORTS.prometheus),
        mounts: [
          mounted(parts.prometheus, "/etc/prometheus/prometheus.yml"),
          { type: "volume", source, target: "/prometheus", readOnly: false },
        ],
      },
      [parts.prometheus],
    ),
    container(
      "grafana",
      grafana.image,
      PORTS.grafana,
      "/api/health",
      {
        command: [],
        env: GRAFANA,
        ports: published(grafana, PORTS.grafana),
        mounts: [
          mounted(datasource, "/etc/grafana/provisioning/datasources/local-serving.yaml"),
          mounted(board, GRAFANA.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH),
        ],
      },
      parts.grafana,
    ),
  ];
  const reach = Object.entries({ prometheus, grafana }).map(
    ([key, { listen: address, port }]): Reach => ({ key, name: key, address, port, path: "" }),
  );
  return { containers, reach };
}
