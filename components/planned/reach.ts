import type { DataOf } from "@local-serving/base/data/dataOf";
import {
  EVERY_ADDRESS,
  isClosed,
  isLoopback,
  type Listening,
  originOf,
} from "@local-serving/machines/address";
import type { ModelKind } from "./modelKind";
import type { endpointSchema, reachSchema } from "./schema/servers";

/** Something on a machine that a program can ask. */
export type Reach = DataOf<typeof reachSchema>;

/** Where clients reach something. */
export type Endpoint = DataOf<typeof endpointSchema>;

/**
 * Returns where a program on the machine asks, and where one on a computer that knows the machine
 * as `host` asks.
 */
export function endpointOf(reach: Reach, host?: string): Endpoint {
  const { key, name, address, port, path } = reach;
  const url = `${originOf(reach)}${path}`;
  if (isClosed(reach)) return { key, name, url };
  const named = host !== undefined && !isLoopback(host);
  if (named || address !== EVERY_ADDRESS)
    return { key, name, url, network: `${originOf(reach, named ? host : undefined)}${path}` };
  return { key, name, url, network: `port ${port} of every address (\`clients.host\` names one)` };
}

/** What services and clients need to know of a server that they use. */
export interface Upstream extends Listening {
  /** Key of `inferenceServers`, `instance-a` or `simple-server`. */
  readonly key: string;
  readonly kind: "inference-server" | "instance-a" | "simple-server";
  /** Names that it answers to, the canonical one first; empty where none is known. */
  readonly names: readonly string[];
  /** Names of its adapters, which it answers to as well. */
  readonly adapters?: readonly string[];
  /** What its models do. */
  readonly serves: ModelKind;
  /** Window in tokens, where it is known. */
  readonly maxModelLen: number | undefined;
  /** Scheme, host and port as a container of ours reaches it. */
  readonly fromContainer: string;
  /** Name of its container, where it is ours. */
  readonly container: string | undefined;
  /** Set where it starts on request, and may not run. */
  readonly start?: "onRequest";
  /** Set where llama-swap is asked for it, and starts it. */
  readonly onDemand?: true;
  /** How long such a start may take. */
  readonly startWithinMinutes?: number;
  /** Variable that holds the key which it asks for, where it does. */
  readonly keyVariable?: string;
}

/** Every name that a server answers to, its adapters' last. */
export const everyName = ({
  names,
  adapters = [],
}: Pick<Upstream, "names" | "adapters">): string[] => [...names, ...adapters];

/** Given to a server that insists on a key and ignores its value. */
export const PLACEHOLDER_KEY = "local-serving-placeholder";
