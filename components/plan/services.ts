import { defined } from "@local-serving/base/faults/defined";
import {
  AS_DOCKERS_BRIDGE,
  DOCKERS_BRIDGE,
  hostOnNetwork,
  isLoopback,
  originFromContainer,
  originOf,
} from "@local-serving/machines/address";
import { onMachine } from "@local-serving/machines/home";
import { plannedClients } from "../clients";
import { type InferenceServerPlan, servedAdapters, servedNames } from "../inference-server";
import type { Evidence, Reach, Upstream } from "../planned";
import { INSTANCE_A } from "../planned/fields";
import { SERVICES } from "../services";
import { onOtherMachine } from "../services/bridge";
import type { ServiceContext } from "../services/kind";
import { ON_DEMAND_MEMORY, onDemandKeyPath, onDemandListener } from "../services/on-demand";
import type { MachineSettings, StackSettings } from "../settings";
import { clientReachFaults } from "./clientReach";
import { monitoringFiles } from "./monitoring";
import type { MachinePlan } from "./types";
import { clientWarnings } from "./warnings";

/** Plans what is around the servers of one machine: the services and the clients. */
export function services(
  name: string,
  machine: MachineSettings,
  servers: readonly InferenceServerPlan[],
  {
    evidence,
    machines,
  }: { readonly evidence: Evidence; readonly machines: StackSettings["machines"] },
) {
  const folder = `${onMachine(machine.stateDirectory, evidence)}/${name}`;
  const known = upstreams(machine, servers);
  const elsewhere = (named: string) => ofOtherMachine(named, machines);
  const target: ServiceContext = {
    machine: name,
    network: machine.network,
    folder,
    servers: known,
    elsewhere,
    ...defined({ onDemand: onDemandAccess(machine, folder) }),
  };
  const planned = SERVICES.flatMap((service) => {
    const made = service.plan(machine, target);
    return made === undefined ? [] : [{ service, ...made }];
  });
  const detail = {
    ...NO_DETAIL,
    ...Object.fromEntries(planned.map((each) => [each.service.key, each.detail])),
  };
  const clients = plannedClients(name, machine, {
    servers: known,
    bridge: detail.bridge,
    evidence,
  });
  const unreached = clientReachFaults(machine, clients, known);
  const warnings = planned.flatMap((each) => [...loopbackOnly(each, known), ...each.warnings]);
  return {
    detail,
    services: planned.map((each) => rowOf(each, planned)),
    clients,
    containers: planned.flatMap(({ container }) => container ?? []),
    files: [
      ...planned.flatMap(({ files }) => files),
      ...monitoringFiles(name, machine, { known, bridge: detail.bridge, folder }),
      ...clients.flatMap((client) => client.files),
    ],
    secretFiles: planned.flatMap(({ secretFiles }) => secretFiles),
    reach: planned.flatMap(({ reach }) => reach ?? []),
    memory: [
      ...planned.flatMap(({ memory }) => memory),
      ...(machine.onDemand === undefined ? [] : [ON_DEMAND_MEMORY]),
    ],
    commands: planned.flatMap(({ commands = [] }) => commands),
    warnings: [
      ...warnings.map(([code, message]) => ({ machine: name, code, message })),
      ...clientWarnings(name, machine, { servers: known, clients, unreached }),
    ],
    /** What keeps clients on other computers from what they talk to. */
    unreached,
  };
}

/** What a plan says of services that the stack file doesn't declare. */
const NO_DETAIL: Pick<MachinePlan, "bridge" | "chatUi" | "simpleServer"> = {
  bridge: null,
  chatUi: null,
  simpleServer: { mode: "none" },
};

type Planned = NonNullable<ReturnType<(typeof SERVICES)[number]["plan"]>> & {
  readonly service: (typeof SERVICES)[number];
};

/** What every service says of itself. */
function rowOf(
  { service: { key, name }, resource, container, inside, servers, volumes }: Planned,
  all: readonly Planned[],
): MachinePlan["services"][number] {
  const host = all.find((each) => each.service.name === inside)?.container;
  const runsIn = (container ?? host)?.name ?? null;
  return { key, name, resource, container: runsIn, own: container !== undefined, servers, volumes };
}

/** What lets a container reach a server of the host that asks for no key, and not the network. */
const howReached = (kind: Upstream["kind"]): string =>
  kind === "instance-a"
    ? `Start it with \`--host ${DOCKERS_BRIDGE}\`, ${AS_DOCKERS_BRIDGE}, and write \`instanceA.listen: ${DOCKERS_BRIDGE}\`.`
    : `Write \`simpleServer.listen: ${DOCKERS_BRIDGE}\`, ${AS_DOCKERS_BRIDGE}.`;

/** Finds servers on the host's loopback, which the container of a service can't reach. */
function loopbackOnly(
  { container, servers }: Planned,
  known: readonly Upstream[],
): [code: string, message: string][] {
  return known.flatMap((server): [string, string][] => {
    const isOutOfReach =
      servers.includes(server.key) && server.container === undefined && isLoopback(server.address);
    if (container === undefined || !isOutOfReach) return [];
    const message = `${container.name} can't reach ${server.key} on ${server.address}. ${howReached(server.kind)}`;
    return [["loopback-only", message]];
  });
}

/**
 * Returns a server of another machine, as a container reaches it over the network or the link
 * between the machines.
 */
function ofOtherMachine(name: string, machines: StackSettings["machines"]): Upstream | undefined {
  const other = onOtherMachine(name);
  const machine = other && machines[other.on];
  const server = other && machine?.inferenceServers[other.key];
  if (machine === undefined || server === undefined) return undefined;
  const { port, model, maxModelLen } = server;
  const { link } = server.nodes === undefined ? {} : machine;
  const address = link?.address ?? server.listen;
  return {
    key: name,
    kind: "inference-server",
    serves: model.kind,
    names: servedNames(server),
    ...servedAdapters(server),
    maxModelLen,
    fromContainer: originOf(
      { address, port },
      link ? undefined : hostOnNetwork(machine, machine.clients.host),
    ),
    address,
    port,
    container: undefined,
  };
}

/** Every server on one machine that a service or a client may use, ours first. */
function upstreams(machine: MachineSettings, servers: readonly InferenceServerPlan[]): Upstream[] {
  const { instanceA } = machine;
  const all = servers.map((server) => onDemandOr(ours(server), machine));
  if (instanceA !== "none") {
    const { servedModelName, maxModelLen, keyVariable, listen: address, port } = instanceA;
    all.push({
      key: INSTANCE_A,
      kind: "instance-a",
      serves: "chat",
      names: servedModelName === undefined ? [] : [servedModelName],
      maxModelLen,
      fromContainer: originFromContainer({ address, port }),
      address,
      port,
      container: undefined,
      ...defined({ keyVariable: keyVariable === "none" ? undefined : keyVariable }),
    });
  }
  return [...all, ...SERVICES.flatMap((service) => service.offers?.(machine) ?? [])];
}

/** How containers get to llama-swap, where any asks it. */
function onDemandAccess(machine: MachineSettings, folder: string): ServiceContext["onDemand"] {
  const { network, keyVariable } = onDemandListener(machine) ?? {};
  if (network === undefined || keyVariable === undefined) return undefined;
  return { network: network.name, keyVariable, keyPath: onDemandKeyPath(folder) };
}

/** Returns how a server is asked: one that starts on request by llama-swap, where that is declared. */
function onDemandOr(server: Upstream, machine: MachineSettings): Upstream {
  const listener = onDemandListener(machine);
  if (listener === undefined || server.start === undefined) return server;
  const { address, port, onLink, keyVariable } = listener;
  return {
    ...server,
    address,
    port,
    ...defined({
      onLink,
      keyVariable,
      startWithinMinutes: machine.onDemand?.startWithinMinutes,
    }),
    fromContainer: originOf({ address, port }),
    onDemand: true,
  };
}

const listening = ({ address, port, onLink }: Reach) => ({ address, port, ...defined({ onLink }) });

function ours({ key, model, container, reach, serve }: InferenceServerPlan): Upstream {
  return {
    key,
    kind: "inference-server",
    serves: model.kind,
    names: serve.names,
    ...defined({ adapters: serve.adapters }),
    maxModelLen: serve.maxModelLen,
    fromContainer: originOf(reach, container.name),
    ...listening(reach),
    container: container.name,
    ...defined({ start: container.start }),
  };
}
