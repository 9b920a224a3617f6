import { contentHash } from "../host/text";
import { CONFIG_LABEL, MACHINE_LABEL, type PlannedContainer } from "../planned/container";
import { type Evidence, onMachine } from "../planned/evidence";
import type { LedgerLine } from "../planned/facts";
import type { FileRole, PlannedFile, SecretFile } from "../planned/file";
import { isPooling } from "../planned/modelKind";
import { HOST_FROM_CONTAINER, type Upstream } from "../planned/reach";
import type { DataOf } from "../planned/schema/dataOf";
import type { bridgeSchema } from "../planned/schema/services";
import type { BridgeSettings } from "../settings/bridge";
import type { MachineSettings } from "../settings/machine";
import { bridgeConfig, bridgeModels, bridgeNames, MASTER_KEY_VARIABLE } from "./bridgeConfig";

/** The protocol bridge: its container and what that reads. */
export type BridgePlan = DataOf<typeof bridgeSchema>;

const CONFIG_INSIDE = "/etc/litellm/config.yaml";
const KEY_INSIDE = "/run/secrets/bridge-key";

/** LiteLLM 1.109.1 took 350 MiB, 417 MiB at its peak, with one worker (measured on x64). */
const MEMORY_GIB = 0.42;

/** Reads the key from its file, so that it is in no argument, and in no environment that Docker could show. */
const WITH_KEY = `${MASTER_KEY_VARIABLE}=$(cat ${KEY_INSIDE}) && export ${MASTER_KEY_VARIABLE} && exec litellm "$@"`;

/** The bridge of one machine: its container, its configuration and where its key comes from. */
export function plannedBridge(
  machineName: string,
  machine: MachineSettings,
  settings: BridgeSettings,
  behind: readonly Upstream[],
  evidence: Evidence,
): BridgePlan {
  // The first answers to the tiers, so it writes text.
  const servers = [...behind].sort((a, b) => Number(isPooling(a.serves)) - Number(isPooling(b.serves)));
  const name = `litellm-${settings.port}`;
  const folder = `${onMachine(machine.stateDirectory, evidence)}/${machineName}`;
  const models = bridgeModels(servers);
  const resource = `${machineName}-bridge`;
  const config: PlannedFile<FileRole> = {
    role: "bridge-config",
    resource: `${resource}-config`,
    partOf: resource,
    purpose: "Configuration of the bridge (LiteLLM).",
    path: `${folder}/bridge/config.yaml`,
    mode: "0644",
    text: bridgeConfig(machineName, settings, models, machine.monitoring !== undefined),
  };
  const { keyVariable: variable, port } = settings;
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
        };
  const liveliness = `import urllib.request; urllib.request.urlopen("http://127.0.0.1:${port}/health/liveliness", timeout=4)`;
  const mounted = (file: { readonly path: string }, target: string) =>
    ({ type: "bind", source: file.path, target, readOnly: true }) as const;
  const container: PlannedContainer = {
    role: "bridge",
    resource,
    name,
    image: settings.image,
    command: ["--config", CONFIG_INSIDE, "--host", "0.0.0.0", "--port", String(port), "--num_workers", "1"],
    entrypoint: key === null ? null : ["/bin/sh", "-c", WITH_KEY, "litellm"],
    // The price list comes with the program: without this it is fetched from the network at each start.
    env: { LITELLM_LOCAL_MODEL_COST_MAP: "True" },
    secretEnv: key === null ? [] : [key.variable],
    ports: [{ ip: settings.listen, host: port, container: port }],
    mounts: [mounted(config, CONFIG_INSIDE), ...(key === null ? [] : [mounted(key, KEY_INSIDE)])],
    gpus: null,
    ipc: "private",
    network: machine.network,
    hosts: [`${HOST_FROM_CONTAINER}:host-gateway`],
    restart: "unless-stopped",
    healthcheck: {
      // The image has Python and no curl. /health itself would ask every model for an answer.
      test: ["CMD", "python3", "-c", liveliness],
      intervalSeconds: 15,
      timeoutSeconds: 5,
      startPeriodSeconds: 60,
      retries: 4,
    },
    ulimits: [],
    stopGraceSeconds: 30,
    // LiteLLM reads its configuration once: another text is another container.
    labels: { [MACHINE_LABEL]: machineName, [CONFIG_LABEL]: contentHash(config.text) },
  };
  return {
    container,
    config,
    key,
    address: settings.listen,
    port,
    servers: servers.map((server) => server.key),
    names: bridgeNames(servers),
    models,
  };
}

/** The bridge's line in the memory ledger. */
export function bridgeMemory(settings: BridgeSettings): LedgerLine {
  const source = "LiteLLM's peak with one worker, measured on another machine";
  return settings.memoryGiB === undefined
    ? { name: "bridge", gib: MEMORY_GIB, basis: "default", source }
    : { name: "bridge", gib: settings.memoryGiB, basis: "measured", source: "bridge.memoryGiB" };
}
