import type { InferenceServerPlan } from "../inference-server/plannedServer";
import { INSTANCE_A, SIMPLE_SERVER } from "../planned/fields";
import { type Listening, originFromContainer, originOf, type Upstream } from "../planned/reach";
import type { MachineSettings } from "../settings/machine";
import type { SimpleServerPlan } from "../simple-server/plannedSimpleServer";

/** Every server on one machine that a service or a client may use, ours first. */
export function upstreams(
  machine: MachineSettings,
  servers: readonly InferenceServerPlan[],
  simpleServer: SimpleServerPlan,
): Upstream[] {
  const { instanceA } = machine;
  return [
    ...servers.map(ours),
    ...(instanceA === "none"
      ? []
      : [
          {
            key: INSTANCE_A,
            kind: "instance-a" as const,
            serves: "chat" as const,
            names: instanceA.servedModelName === undefined ? [] : [instanceA.servedModelName],
            maxModelLen: instanceA.maxModelLen,
            fromContainer: originFromContainer(listening(instanceA)),
            ...listening(instanceA),
            container: undefined,
          },
        ]),
    ...(simpleServer.mode !== "host"
      ? []
      : [
          {
            key: SIMPLE_SERVER,
            kind: "simple-server" as const,
            serves: "chat" as const,
            names: simpleServer.models,
            maxModelLen: undefined,
            fromContainer: originFromContainer(listening(simpleServer)),
            ...listening(simpleServer),
            container: undefined,
          },
        ]),
  ];
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

function listening({ listen, port }: { readonly listen: string; readonly port: number }): Listening {
  return { address: listen, port };
}
