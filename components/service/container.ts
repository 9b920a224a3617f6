import { HOST_FROM_CONTAINER } from "../../machines/address";
import { LABEL, type PlannedContainer } from "../planned/container";
import type { LedgerLine } from "../planned/facts";
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
