import { defined } from "@local-serving/base/faults/defined";
import { originOf } from "@local-serving/machines/address";
import { stringify } from "yaml";
import type { FileRole, PlannedFile, Upstream } from "../../planned";
import type { BridgePlan } from "../../services/bridge";
import type { MachineSettings } from "../../settings";
import dashboard from "./dashboard.json";

const ABOUT =
  "# Written by local-serving from `monitoring: scrape`. Name it in `scrape_config_files` of your Prometheus's configuration.";

/** What is scraped on a machine, and the folder that its files go to. */
interface Scraped {
  readonly known: readonly Upstream[];
  readonly bridge: BridgePlan | null;
  readonly folder: string;
}

/**
 * Plans what the operator's Prometheus and Grafana read about a machine: the targets as the machine
 * itself reaches them, and a dashboard. It plans nothing without `monitoring`. `known` are the
 * machine's servers, and `folder` is where its files go.
 */
export function monitoringFiles(
  machineName: string,
  machine: MachineSettings,
  { known, bridge, folder }: Scraped,
): PlannedFile<FileRole>[] {
  if (machine.monitoring === undefined) return [];
  const job = (name: string, path: string, origin: string, labels: object = {}) => ({
    job_name: name,
    metrics_path: path,
    static_configs: [
      { targets: [new URL(origin).host], labels: { machine: machineName, ...labels } },
    ],
  });
  const servers = known.filter(({ kind }) => kind !== "simple-server");
  // LiteLLM shows its figures only to those with its key, and Prometheus has none.
  const open = bridge?.key === null ? [bridge] : [];
  const targets = [
    // No alarm may ring where one that starts on request doesn't answer.
    ...servers.map((each) =>
      job(`vllm-${each.key}`, "/metrics", originOf(each), {
        server: each.key,
        ...defined({ start: each.start }),
      }),
    ),
    // Without the slash at its end LiteLLM answers with another address (1.103.0).
    ...open.map((each) => job("bridge", "/metrics/", originOf(each))),
  ];
  const file = (
    role: FileRole,
    name: string,
    purpose: string,
    text: string,
  ): PlannedFile<FileRole> => ({
    role,
    resource: `${machineName}-${role}`,
    partOf: `${machineName}-monitoring`,
    purpose,
    path: `${folder}/monitoring/${name}`,
    mode: "0644",
    text,
  });
  return [
    file(
      "scrape-targets",
      "scrape.yaml",
      "What your Prometheus asks of the machine.",
      `${ABOUT}\n${stringify({ scrape_configs: targets })}`,
    ),
    file(
      "grafana-dashboard",
      "dashboard.json",
      "A dashboard of the machine for your Grafana.",
      dashboardOf(machineName, machine),
    ),
  ];
}

/** The dashboard with this machine's name and the floor under its memory, which no metric tells. */
function dashboardOf(machine: string, { memoryFloorGiB }: MachineSettings): string {
  const text = JSON.stringify(dashboard, null, 2);
  return `${text.replaceAll("$machine", machine).replaceAll("$floor", String(memoryFloorGiB))}\n`;
}
