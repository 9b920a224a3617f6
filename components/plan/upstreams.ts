import { servedNames } from "../inference-server/launchArguments";
import { INSTANCE_A, SIMPLE_SERVER } from "../settings/fields";
import type { MachineSettings } from "../settings/machine";
import type { InferenceServerPlan, SimpleServerPlan } from "./types";

/** Name by which a container reaches the machine that it runs on. */
export const HOST_FROM_CONTAINER = "host.docker.internal";

/** What services and clients need to know of a server that they use. */
export interface Upstream {
  /** Key of `inferenceServers`, `instance-a` or `simple-server`. */
  readonly key: string;
  readonly kind: "inference-server" | "instance-a" | "simple-server";
  /** Names that it answers to, the canonical one first; empty where none is known. */
  readonly names: readonly string[];
  /** Window in tokens, where it is known. */
  readonly maxModelLen: number | undefined;
  /** Scheme, host and port as a container of ours reaches it. */
  readonly fromContainer: string;
  /** Address and port on the machine. */
  readonly address: string;
  readonly port: number;
  /** Name of its container, where it is ours. */
  readonly container: string | undefined;
}

/** Every server on one machine that a service or a client may use, ours first. */
export function upstreams(
  machine: MachineSettings,
  servers: readonly InferenceServerPlan[],
  simpleServer: SimpleServerPlan,
): Upstream[] {
  const { instanceA } = machine;
  return [
    ...servers.flatMap((server) => ours(machine, server)),
    ...(instanceA === "none"
      ? []
      : [
          {
            key: INSTANCE_A,
            kind: "instance-a" as const,
            names: instanceA.servedModelName === undefined ? [] : [instanceA.servedModelName],
            maxModelLen: instanceA.maxModelLen,
            fromContainer: `http://${HOST_FROM_CONTAINER}:${instanceA.port}`,
            address: instanceA.listen,
            port: instanceA.port,
            container: undefined,
          },
        ]),
    ...(simpleServer.mode !== "host"
      ? []
      : [
          {
            key: SIMPLE_SERVER,
            kind: "simple-server" as const,
            names: simpleServer.models,
            maxModelLen: undefined,
            fromContainer: `http://${HOST_FROM_CONTAINER}:${simpleServer.port}`,
            address: simpleServer.listen,
            port: simpleServer.port,
            container: undefined,
          },
        ]),
  ];
}

function ours(machine: MachineSettings, { key, container }: InferenceServerPlan): Upstream[] {
  const settings = machine.inferenceServers[key];
  if (settings === undefined) return [];
  return [
    {
      key,
      kind: "inference-server",
      names: servedNames(settings),
      maxModelLen: settings.maxModelLen,
      fromContainer: `http://${container.name}:${settings.port}`,
      address: settings.listen ?? machine.listen,
      port: settings.port,
      container: container.name,
    },
  ];
}

/** `true` for an address that only the machine itself can reach. */
export function isLoopback(address: string): boolean {
  return address.startsWith("127.");
}

/** Scheme, host and port as a program on the machine (or on the network, by `host`) reaches a published port. */
export function originOf(address: string, port: number, host?: string): string {
  return `http://${host ?? (address === "0.0.0.0" ? "127.0.0.1" : address)}:${port}`;
}

/** What stands where a server insists on a key and ignores its value. */
export const PLACEHOLDER_KEY = "local-serving-placeholder";
