import { defined } from "@local-serving/base/faults/defined";
import type { Listening } from "@local-serving/machines/address";
import { isPooling, type ModelKind } from "../../planned";
import type { OnDemandSettings } from "./settings";

/** What of a machine decides where llama-swap listens. */
export interface OnDemandBlocks {
  readonly network: string;
  readonly onDemand?: OnDemandSettings | undefined;
  readonly inferenceServers: Readonly<
    Record<
      string,
      { readonly start: "always" | "onRequest"; readonly model: { readonly kind: ModelKind } }
    >
  >;
  readonly bridge?: { readonly servers?: readonly string[] | undefined } | undefined;
  readonly chatUi?:
    | {
        readonly connections?: readonly string[] | undefined;
        readonly embeddingServer?: string | undefined;
        readonly rerankServer?: string | undefined;
      }
    | undefined;
}

/** Where llama-swap listens. */
export interface OnDemandListener extends Listening {
  /** Docker network whose gateway it listens on, where containers ask it. */
  readonly network?: { readonly name: string; readonly subnet: string; readonly gateway: string };
  readonly keyVariable?: string;
}

const LOOPBACK = "127.0.0.1";

/** Keys of the servers that start on request. */
export const onRequestKeys = ({ inferenceServers }: Pick<OnDemandBlocks, "inferenceServers">) =>
  Object.entries(inferenceServers).flatMap(([key, { start }]) => (start === "always" ? [] : key));

/** The services in containers that ask a server which starts on request. */
export function askingContainers(machine: OnDemandBlocks): ("bridge" | "chatUi")[] {
  const { bridge, chatUi, inferenceServers } = machine;
  const keys = onRequestKeys(machine);
  const pooling = keys.filter((key) => isPooling(inferenceServers[key]?.model.kind ?? "chat"));
  const asked = {
    bridge: bridge === undefined ? [] : (bridge.servers ?? keys),
    chatUi: chatUi === undefined ? [] : [...(chatUi.connections ?? keys), ...pooling],
  };
  return (["bridge", "chatUi"] as const).filter((service) =>
    asked[service].some((key) => keys.includes(key)),
  );
}

/**
 * Where those who ask llama-swap reach it, and nobody else: on loopback, or on the gateway of a
 * network of its own if a container asks; containers can't reach the machine's loopback.
 */
export function onDemandListener(machine: OnDemandBlocks): OnDemandListener | undefined {
  const { onDemand, network } = machine;
  if (onDemand === undefined) return undefined;
  const { port, subnet, keyVariable } = onDemand;
  const key = defined({ keyVariable });
  if (askingContainers(machine).length === 0) return { address: LOOPBACK, port, ...key };
  const gateway = firstAddress(subnet);
  return {
    address: gateway,
    port,
    onLink: true,
    network: { name: `${network}-on-demand`, subnet, gateway },
    ...key,
  };
}

/** The first address of a subnet that a machine may have. */
const firstAddress = (subnet: string): string =>
  subnet.replace(/\d+\/\d+$/, (last) => String(Number(last.split("/", 1)[0]) + 1));
