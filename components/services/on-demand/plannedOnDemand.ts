import { defined } from "@local-serving/base/faults/defined";
import { originOf } from "@local-serving/machines/address";
import {
  everyName,
  type FileRole,
  type LedgerLine,
  type PlannedFile,
  type Reach,
  type SecretFile,
} from "../../planned";
import { declaredText } from "./declaredText";
import { type OnDemandBlocks, onDemandListener } from "./listener";
import type { OnDemandAround, OnDemandPlan } from "./onDemandPlan";
import { IDLE_MINUTES, type OnDemandSettings } from "./settings";
import { swapConfig } from "./swapConfig";
import { unitText } from "./unit";
import { wrapperText } from "./wrapperText";

/** Where the key is, below the folder of the machine's files. */
export const onDemandKeyPath = (folder: string): string => `${folder}/secrets/on-demand-key`;

/** The blocks of a machine that this reads. */
export interface OnDemandMachine extends OnDemandBlocks {
  /** Docker engine of the machine. */
  readonly dockerHost: string;
  readonly inferenceServers: Readonly<
    Record<
      string,
      OnDemandBlocks["inferenceServers"][string] & {
        readonly idleMinutes?: number | "never" | undefined;
      }
    >
  >;
}

/** What else it is planned from. */
export interface OnDemandContext extends Omit<OnDemandAround, "together"> {
  /** Absent where no server starts on request. */
  readonly together: OnDemandAround["together"] | undefined;
  /** Folder of the machine's files. */
  readonly folder: string;
  /** Home of the operator on the machine. */
  readonly home: string;
}

/** What of llama-swap a machine's plan gets. */
export interface PlannedOnDemand {
  readonly onDemand: OnDemandPlan;
  readonly files: readonly PlannedFile<FileRole>[];
  readonly secretFiles: readonly SecretFile[];
  readonly reach: readonly Reach[];
}

/** llama-swap took 17 MiB idle and 216 MiB after a body of 60 MiB (v250, measured on x64). */
export const ON_DEMAND_MEMORY: LedgerLine = {
  name: "llama-swap",
  gib: 0.22,
  basis: "default",
  source: "llama-swap after a request of 60 MiB, measured on another machine",
};

/** Plans llama-swap, where a machine declares it. */
export function plannedOnDemand(
  machine: OnDemandMachine,
  context: OnDemandContext,
): PlannedOnDemand | undefined {
  const listener = onDemandListener(machine);
  const settings = machine.onDemand;
  const { together } = context;
  if (listener === undefined || settings === undefined || together === undefined) return undefined;
  const onDemand = { ...facts(settings, context), ...where(listener, context) };
  const planned = { ...onDemand, servers: serversOf(machine, context.servers) };
  const { secretFiles } = keyFile(planned, context.machine);
  return {
    onDemand: planned,
    files: filesOf(planned, machine, { ...context, together }),
    secretFiles,
    reach: [
      {
        key: "on-demand",
        name: "llama-swap",
        address: listener.address,
        port: listener.port,
        path: "/v1",
        ...(listener.onLink ? { onLink: true } : {}),
      },
    ],
  };
}

/** Name of the systemd user unit of a machine's llama-swap. */
const unitName = (machine: string): string => `local-serving-${machine}-on-demand.service`;

/** Name of the resource of a machine's llama-swap. */
export const onDemandResource = (machine: string): string => `${machine}-on-demand`;

/**
 * Starts within an hour above which `status` warns: each takes minutes, and it isn't known how much
 * memory many of them leave occupied on a DGX Spark.
 */
const SWAPS_PER_HOUR = 12;

function facts(
  { program, startWithinMinutes, retryAfterMinutes }: OnDemandSettings,
  { machine, folder }: OnDemandContext,
) {
  const { version, from, sha256 } = program;
  return {
    folder: `${folder}/on-demand`,
    unit: unitName(machine),
    program: { version, from, path: `${folder}/on-demand/llama-swap`, ...defined({ sha256 }) },
    startWithinMinutes,
    retryAfterMinutes,
    swapsPerHour: SWAPS_PER_HOUR,
  };
}

function where(
  listener: NonNullable<ReturnType<typeof onDemandListener>>,
  { folder }: OnDemandContext,
) {
  const { address, port, network, keyVariable } = listener;
  return {
    address,
    port,
    url: originOf({ address, port }),
    ...defined({
      network,
      keyVariable,
      keyPath: keyVariable === undefined ? undefined : onDemandKeyPath(folder),
    }),
  };
}

function serversOf(
  { inferenceServers }: OnDemandMachine,
  servers: OnDemandAround["servers"],
): OnDemandPlan["servers"] {
  return servers.flatMap(({ key, container, serve, reach }) => {
    if (container.start !== "onRequest") return [];
    const { idleMinutes = IDLE_MINUTES } = inferenceServers[key] ?? {};
    const [model = "", ...names] = everyName({
      names: serve.names,
      adapters: serve.adapters ?? [],
    });
    return {
      key,
      container: container.name,
      model,
      names,
      port: reach.port,
      graceSeconds: container.stopGraceSeconds,
      idleMinutes: idleMinutes === "never" ? null : idleMinutes,
    };
  });
}

function keyFile(
  { keyVariable: variable, keyPath: path }: OnDemandPlan,
  machine: string,
): { readonly secretFiles: readonly SecretFile[] } {
  if (variable === undefined || path === undefined) return { secretFiles: [] };
  const partOf = onDemandResource(machine);
  const purpose = "Key of llama-swap.";
  const file: SecretFile = {
    role: "on-demand-key",
    resource: `${partOf}-key`,
    partOf,
    purpose,
    path,
    mode: "0600",
    variable,
    isKey: true,
  };
  return { secretFiles: [file] };
}

function filesOf(
  planned: OnDemandPlan,
  { dockerHost }: OnDemandMachine,
  { machine, home, servers, together }: OnDemandContext & OnDemandAround,
): PlannedFile<FileRole>[] {
  const partOf = onDemandResource(machine);
  const { folder, unit } = planned;
  const file = (
    what: "config" | "declared" | "wrapper" | "unit",
    { path, purpose, text }: Pick<PlannedFile, "path" | "purpose" | "text">,
  ): PlannedFile<FileRole> => ({
    role: `on-demand-${what}`,
    resource: `${partOf}-${what}`,
    partOf,
    purpose,
    path,
    mode: "0644",
    text,
  });
  return [
    file("wrapper", {
      purpose: "Starts and stops containers for llama-swap, by what Docker says.",
      path: `${folder}/on-demand.py`,
      text: wrapperText(),
    }),
    file("declared", {
      purpose: "What that is told: the servers, and which of them run together.",
      path: `${folder}/on-demand.json`,
      text: declaredText(planned, together),
    }),
    file("config", {
      purpose: "Configuration of llama-swap.",
      path: `${folder}/config.yaml`,
      text: swapConfig(planned, { machine, servers, together }),
    }),
    file("unit", {
      purpose: "systemd user unit of llama-swap.",
      path: `${home.replace(/\/$/, "")}/.config/systemd/user/${unit}`,
      text: unitText(planned, { machine, dockerHost }),
    }),
  ];
}
