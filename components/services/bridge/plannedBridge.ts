import type { DataOf } from "@local-serving/base/data/dataOf";
import { defined } from "@local-serving/base/faults/defined";
import { contentHash } from "@local-serving/machines/shell";
import {
  type FileRole,
  isPooling,
  LABEL,
  type PlannedContainer,
  type PlannedFile,
  type SecretFile,
  type Upstream,
} from "../../planned";
import type { bridgeSchema } from "../../planned/schema";
import {
  askingOnDemand,
  ON_DEMAND_KEY_INSIDE,
  type OnDemandAccess,
  type PlannedService,
  type ServiceContext,
  serviceContainer,
  serviceMemory,
  settingFromFiles,
  textOfFile,
} from "../kind";
import {
  bridgeConfig,
  bridgeModels,
  bridgeNames,
  MASTER_KEY_VARIABLE,
  ON_DEMAND_KEY_VARIABLE,
} from "./bridgeConfig";
import type { BridgeSettings } from "./settings";

/** The protocol bridge: its container and what the container reads. */
export type BridgePlan = DataOf<typeof bridgeSchema>;

/** The blocks of a machine that the bridge reads. */
export interface BridgeBlocks {
  readonly bridge?: BridgeSettings | undefined;
  /** Set where a Prometheus is to read its figures. */
  readonly monitoring?: string | undefined;
}

const CONFIG_INSIDE = "/etc/litellm/config.yaml";
const KEY_INSIDE = "/run/secrets/bridge-key";

/** LiteLLM 1.109.1 took 350 MiB, 417 MiB at its peak, with one worker (measured on x64). */
const MEMORY = { gib: 0.42, source: "LiteLLM's peak with one worker, measured on another machine" };

/** The bridge of one machine: its container, its configuration and where its key comes from. */
export function plannedBridge(
  { bridge: settings, monitoring }: BridgeBlocks,
  target: ServiceContext,
): PlannedService<BridgePlan> | undefined {
  if (settings === undefined) return undefined;
  const { machine, folder } = target;
  const { keyVariable: variable, port, listen: address } = settings;
  // The first answers to the tiers, so it writes text.
  const servers = behind(settings, target).sort(
    (a, b) => Number(isPooling(a.serves)) - Number(isPooling(b.serves)),
  );
  const models = bridgeModels(servers);
  const resource = `${machine}-bridge`;
  const config: PlannedFile<FileRole> = {
    role: "bridge-config",
    resource: `${resource}-config`,
    partOf: resource,
    purpose: "Configuration of the bridge (LiteLLM).",
    path: `${folder}/bridge/config.yaml`,
    mode: "0644",
    text: bridgeConfig(machine, settings, models, monitoring !== undefined),
  };
  const key: SecretFile | null =
    variable === undefined
      ? null
      : {
          role: "bridge-key",
          resource: `${resource}-key`,
          partOf: resource,
          purpose: "Key of the bridge.",
          path: `${folder}/secrets/bridge-key`,
          mode: "0600",
          variable,
          isKey: true,
        };
  const onDemand = askingOnDemand(servers, target);
  const container = bridgeContainer(settings, { config, key, resource, onDemand }, target);
  const keys = servers.map((server) => server.key);
  return {
    detail: {
      container,
      config,
      key,
      address,
      port,
      servers: keys,
      names: bridgeNames(servers),
      models,
    },
    resource,
    container,
    servers: keys,
    files: [config],
    secretFiles: key === null ? [] : [key],
    volumes: [],
    reach: { key: "bridge", name: container.name, address, port, path: "" },
    memory: [serviceMemory("bridge", { key: "bridge", memoryGiB: settings.memoryGiB }, MEMORY)],
    warnings: [],
  };
}

/**
 * The servers behind the bridge, in the order of the stack file; by default every server of ours on
 * its machine.
 */
function behind(
  { servers }: BridgeSettings,
  { servers: here, elsewhere }: ServiceContext,
): Upstream[] {
  if (servers === undefined) return here.filter(({ kind }) => kind === "inference-server");
  return servers.flatMap((name) => elsewhere(name) ?? here.find(({ key }) => key === name) ?? []);
}

type Own = Pick<BridgePlan, "config" | "key"> & {
  readonly resource: string;
  readonly onDemand: OnDemandAccess | undefined;
};

function bridgeContainer(
  { port, image, listen }: BridgeSettings,
  { config, key, resource, onDemand }: Own,
  target: ServiceContext,
): PlannedContainer {
  const liveliness = `import urllib.request; urllib.request.urlopen("http://127.0.0.1:${port}/health/liveliness", timeout=4)`;
  const mounted = (file: { readonly path: string }, inside: string) =>
    ({ type: "bind", source: file.path, target: inside, readOnly: true }) as const;
  const keys = [
    ...(key === null ? [] : [{ variable: MASTER_KEY_VARIABLE, value: textOfFile(KEY_INSIDE) }]),
    ...(onDemand === undefined
      ? []
      : [{ variable: ON_DEMAND_KEY_VARIABLE, value: textOfFile(ON_DEMAND_KEY_INSIDE) }]),
  ];
  return serviceContainer(target, {
    role: "bridge",
    resource,
    name: `litellm-${port}`,
    image,
    command: [
      "--config",
      CONFIG_INSIDE,
      "--host",
      "0.0.0.0",
      "--port",
      String(port),
      "--num_workers",
      "1",
    ],
    entrypoint:
      keys.length === 0
        ? null
        : ["/bin/sh", "-c", settingFromFiles(keys, 'litellm "$@"'), "litellm"],
    // The price list comes with the program: without this it is fetched from the network at each
    // start.
    env: { LITELLM_LOCAL_MODEL_COST_MAP: "True" },
    secretEnv: [
      ...(key === null ? [] : [key.variable]),
      ...(onDemand === undefined ? [] : [onDemand.keyVariable]),
    ],
    port: { ip: listen, host: port, container: port },
    mounts: [
      mounted(config, CONFIG_INSIDE),
      ...(key === null ? [] : [mounted(key, KEY_INSIDE)]),
      ...(onDemand === undefined ? [] : [onDemand.mount]),
    ],
    ...defined({ moreNetworks: onDemand?.moreNetworks }),
    // The image has Python and no curl. /health itself would ask every model for an answer.
    healthcheck: { test: ["CMD", "python3", "-c", liveliness], startPeriodSeconds: 60 },
    // LiteLLM reads its configuration once: another text is another container.
    labels: { [LABEL.config]: contentHash(config.text) },
  });
}
