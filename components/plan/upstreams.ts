import type { InferenceServerPlan } from "../inference-server/plannedServer";
import { INSTANCE_A, SIMPLE_SERVER } from "../planned/fields";
import { originFromContainer, originOf, type Upstream } from "../planned/reach";
import type { MachineSettings } from "../settings/machine";
import type { SimpleServerPlan } from "../simple-server/plannedSimpleServer";

/** Every server on one machine that a service or a client may use, ours first. */
export function upstreams(
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

function ours({ key, model, container, reach, serve }: InferenceServerPlan): Upstream {
  return {
    key,
    kind: "inference-server",
    serves: model.kind,
    names: serve.names,
    maxModelLen: serve.maxModelLen,
    fromContainer: originOf(reach, container.name),
    address: reach.address,
    port: reach.port,
    container: container.name,
  };
}

/** What servers outside containers of ours have in common. */
function onTheHost({ listen: address, port }: { readonly listen: string; readonly port: number }) {
  const fromContainer = originFromContainer({ address, port });
  return { serves: "chat", fromContainer, address, port, container: undefined } as const;
}
