import { defined } from "../../faults/defined";
import { bridgeMemory, plannedBridge } from "../bridge/plannedBridge";
import { chatUiMemory, plannedChatUi } from "../chat-ui/plannedChatUi";
import { plannedClients } from "../clients/plannedClients";
import type { InferenceServerPlan } from "../inference-server/plannedServer";
import { servedNames } from "../inference-server/serve";
import { monitoringFiles } from "../monitoring/monitoringFiles";
import { type Evidence, onMachine } from "../planned/evidence";
import { INSTANCE_A, SIMPLE_SERVER } from "../planned/fields";
import { hostOnNetwork, isLoopback, originFromContainer, originOf, type Reach, type Upstream } from "../planned/reach";
import { onOtherMachine } from "../settings/bridge";
import type { MachineSettings } from "../settings/machine";
import type { StackSettings } from "../settings/stackSettings";
import type { SimpleServerPlan } from "../simple-server/plannedSimpleServer";
import { clientReachFaults } from "./clientReach";
import { serviceWarnings } from "./warnings";

/** Plans what is around the servers of one machine: the bridge, the chat UI and the clients. */
export function services(
  name: string,
  machine: MachineSettings,
  evidence: Evidence,
  servers: readonly InferenceServerPlan[],
  simpleServer: SimpleServerPlan,
  machines: StackSettings["machines"],
) {
  const folder = `${onMachine(machine.stateDirectory, evidence)}/${name}`;
  const known = upstreams(machine, servers, simpleServer);
  const ours = known.filter((each) => each.kind === "inference-server").map((each) => each.key);
  const bridge =
    machine.bridge === undefined
      ? null
      : plannedBridge(
          name,
          machine,
          machine.bridge,
          bridged(known, machine.bridge.servers ?? ours, machines),
          evidence,
        );
  const chatUi =
    machine.chatUi === undefined
      ? null
      : plannedChatUi(
          name,
          machine,
          machine.chatUi,
          known,
          pick(known, machine.chatUi.connections ?? [...ours, ...reachable(known)]),
          simpleServer.mode === "integrated",
          folder,
        );
  const clients = plannedClients(name, machine, known, bridge, evidence);
  const unreached = clientReachFaults(machine, clients, known);
  const containers = [bridge, chatUi].filter((each) => each !== null);
  return {
    bridge,
    chatUi,
    clients,
    containers: containers.map(({ container }) => container),
    files: [
      ...(bridge === null ? [] : [bridge.config]),
      ...monitoringFiles(name, machine, known, bridge, folder),
      ...clients.flatMap((client) => client.files),
    ],
    secretFiles: [...(bridge?.key ? [bridge.key] : []), ...(chatUi?.administrator ?? [])],
    reach: containers.map(({ container, address, port }): Reach => {
      const { role, name } = container;
      return { key: role, name, address, port, path: "" };
    }),
    memory: [
      ...(machine.chatUi === undefined ? [] : [chatUiMemory(machine.chatUi)]),
      ...(machine.bridge === undefined ? [] : [bridgeMemory(machine.bridge)]),
    ],
    warnings: serviceWarnings(name, machine, known, { bridge, chatUi, clients, unreached }),
    /** What keeps clients on other computers from what they talk to. */
    unreached,
  };
}

/** The simple server, where a container can reach it. */
function reachable(known: readonly Upstream[]): string[] {
  const simple = known.filter((each) => each.kind === "simple-server" && !isLoopback(each.address));
  return simple.map((each) => each.key);
}

/** The servers of these names, in the order of the names. */
function pick(known: readonly Upstream[], names: readonly string[]): Upstream[] {
  return names.flatMap((name) => known.filter((each) => each.key === name));
}

/** The servers behind the bridge, those of other machines as its container reaches them over the network. */
function bridged(
  known: readonly Upstream[],
  names: readonly string[],
  machines: StackSettings["machines"],
): Upstream[] {
  return names.flatMap((name) => {
    const other = onOtherMachine(name);
    const machine = other && machines[other.on];
    const server = other && machine?.inferenceServers[other.key];
    if (machine === undefined || server === undefined) return pick(known, [name]);
    const { port, model, maxModelLen } = server;
    const { link } = server.nodes === undefined ? {} : machine;
    const address = link?.address ?? server.listen;
    const fromContainer = originOf({ address, port }, link ? undefined : hostOnNetwork(machine, machine.clients.host));
    const own = {
      key: name,
      kind: "inference-server",
      serves: model.kind,
      names: servedNames(server),
      maxModelLen,
    } as const;
    return [{ ...own, fromContainer, address, port, container: undefined }];
  });
}

/** Every server on one machine that a service or a client may use, ours first. */
function upstreams(
  machine: MachineSettings,
  servers: readonly InferenceServerPlan[],
  simpleServer: SimpleServerPlan,
): Upstream[] {
  const { instanceA } = machine;
  const all = servers.map(ours);
  if (instanceA !== "none") {
    const { servedModelName, maxModelLen } = instanceA;
    const names = servedModelName === undefined ? [] : [servedModelName];
    all.push({ key: INSTANCE_A, kind: "instance-a", names, maxModelLen, ...onTheHost(instanceA) });
  }
  if (simpleServer.mode === "host") {
    const { models: names } = simpleServer;
    const own = { key: SIMPLE_SERVER, kind: "simple-server", names, maxModelLen: undefined } as const;
    all.push({ ...own, ...onTheHost(simpleServer) });
  }
  return all;
}

const listening = ({ address, port, onLink }: Reach) => ({ address, port, ...defined({ onLink }) });

function ours({ key, model, container, reach, serve }: InferenceServerPlan): Upstream {
  return {
    key,
    kind: "inference-server",
    serves: model.kind,
    names: serve.names,
    maxModelLen: serve.maxModelLen,
    fromContainer: originOf(reach, container.name),
    ...listening(reach),
    container: container.name,
  };
}

/** What servers outside containers of ours have in common. */
function onTheHost({ listen: address, port }: { readonly listen: string; readonly port: number }) {
  const fromContainer = originFromContainer({ address, port });
  return { serves: "chat", fromContainer, address, port, container: undefined } as const;
}
