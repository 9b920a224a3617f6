import { HOST_FROM_CONTAINER } from "@local-serving/machines/address";
import {
  LABEL,
  type LedgerLine,
  type Mount,
  type PlannedContainer,
  type Upstream,
} from "../../planned";
import type { ServiceContext } from "./service";

/** What differs between the containers of services. */
type Own = Pick<PlannedContainer, "role" | "resource" | "name" | "image"> &
  Partial<Omit<PlannedContainer, "labels" | "healthcheck">> & {
    /** The port on the machine, and the one inside. */
    readonly port: { readonly ip: string; readonly host: number; readonly container: number };
    readonly healthcheck: Pick<PlannedContainer["healthcheck"], "test" | "startPeriodSeconds">;
    readonly labels?: PlannedContainer["labels"];
  };

/**
 * Plans the container of a service. It joins the machine's network, reaches the host's own servers,
 * is restarted by Docker, and is checked every 15 seconds.
 */
export function serviceContainer({ machine, network }: ServiceContext, own: Own): PlannedContainer {
  const { port, healthcheck, labels, ...more } = own;
  return {
    command: [],
    entrypoint: null,
    env: {},
    secretEnv: [],
    ports: [port],
    mounts: [],
    gpus: null,
    ipc: "private",
    network,
    hosts: [`${HOST_FROM_CONTAINER}:host-gateway`],
    restart: "unless-stopped",
    healthcheck: { intervalSeconds: 15, timeoutSeconds: 5, retries: 4, ...healthcheck },
    ulimits: [],
    stopGraceSeconds: 30,
    labels: { [LABEL.machine]: machine, ...labels },
    ...more,
  };
}

/**
 * A variable that a container's entrypoint sets from files, so that neither the arguments nor the
 * environment that Docker shows hold a secret. `value` is a word of the shell.
 */
export interface FromFiles {
  readonly variable: string;
  readonly value: string;
}

/** The word of the shell that a secret's file inside the container stands for. */
export const textOfFile = (path: string): string => `$(cat ${path})`;

/** The script of an entrypoint that sets such variables and then runs a command. */
export const settingFromFiles = (variables: readonly FromFiles[], command: string): string =>
  [
    ...variables.map(({ variable, value }) => `${variable}=${value} && export ${variable}`),
    `exec ${command}`,
  ].join(" && ");

/** What a container gets that asks llama-swap: its network, and its key in a file. */
export function askingOnDemand(
  servers: readonly Pick<Upstream, "onDemand">[],
  { onDemand }: Pick<ServiceContext, "onDemand">,
): OnDemandAccess | undefined {
  if (onDemand === undefined || servers.every((server) => server.onDemand === undefined))
    return undefined;
  const { network, keyPath: source, keyVariable } = onDemand;
  const mount = { type: "bind", source, target: ON_DEMAND_KEY_INSIDE, readOnly: true } as const;
  return { moreNetworks: [network], keyVariable, mount };
}

/** Where a container finds llama-swap's key. */
export const ON_DEMAND_KEY_INSIDE = "/run/secrets/on-demand-key";

/** A container's way to llama-swap. */
export interface OnDemandAccess {
  readonly moreNetworks: readonly string[];
  /** Variable of the operator's shell with the key. */
  readonly keyVariable: string;
  /** The file with the key. */
  readonly mount: Mount;
}

/**
 * A service's line in the memory ledger: what the setting `memoryGiB` says, else a figure from
 * elsewhere.
 */
export const serviceMemory = (
  name: string,
  { key, memoryGiB }: { readonly key: string; readonly memoryGiB?: number | undefined },
  usual: Pick<LedgerLine, "gib" | "source">,
): LedgerLine =>
  memoryGiB === undefined
    ? { name, basis: "default", ...usual }
    : { name, gib: memoryGiB, basis: "measured", source: `${key}.memoryGiB` };
