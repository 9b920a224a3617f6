import { defined } from "@local-serving/base/faults/defined";
import { containerArgs } from "../../host";
import { imageRecordInputs, imageRecordName, serverInputs } from "../../inference-server";
import type { MachinePlan, Plan } from "../../plan";
import { serversOn, TYPE } from "../../planned";
import { onDemandInputs, onDemandResource } from "../../services/on-demand";
import { hostInstanceFacts, machineFacts } from "./machineFacts";

/** A resource as the policies see it. */
export interface Declared {
  readonly type: string;
  readonly name: string;
  /** Machine that a container runs on; in the engine its provider says so. */
  readonly provider?: string;
  /** What a container is for; in the engine the components above it say so. */
  readonly role?: string;
  /** Docker engine of a machine; in the engine its provider says so. */
  readonly dockerHost?: string;
  /** Boot id of a machine's kernel, where it was read. */
  readonly bootId?: string;
  readonly props: Readonly<Record<string, unknown>>;
}

/** Boot ids of the kernels of machines, by the machine's name, as far as they were read. */
export type BootIds = ReadonlyMap<string, string>;

/**
 * The resources that policies judge, taken from the plan without an engine. The container arguments
 * are the very objects that the program hands to `docker.Container`.
 */
export function declaredResources(plan: Plan, bootIds: BootIds = new Map()): Declared[] {
  return plan.machines.flatMap((machine) => machineResources(machine, bootIds.get(machine.name)));
}

function machineResources(machine: MachinePlan, bootId: string | undefined): Declared[] {
  const { name, dockerHost, hostInstance } = machine;
  const found = defined({ bootId });
  return [
    { type: TYPE.machine, name, dockerHost, ...found, props: machineFacts(machine) },
    ...(hostInstance === "none"
      ? []
      : [
          {
            type: TYPE.hostInstance,
            name: `${name}-instance-a`,
            props: { machine: name, ...hostInstanceFacts(hostInstance) },
          },
        ]),
    ...serversOn(machine).flatMap((server): Declared[] => {
      const { resource } = server.container;
      return [
        {
          type: TYPE.imageRecord,
          name: imageRecordName(resource),
          props: imageRecordInputs(server.imageRecord),
        },
        { type: TYPE.inferenceServer, name: resource, props: serverInputs(name, server) },
      ];
    }),
    ...onDemandOf(machine),
    ...machine.containers.map((container) => ({
      type: TYPE.container,
      name: container.resource,
      provider: name,
      role: container.role,
      props: containerArgs(container),
    })),
  ];
}

function onDemandOf(machine: MachinePlan): Declared[] {
  const inputs = onDemandInputs(machine);
  if (inputs === undefined) return [];
  return [{ type: TYPE.onDemand, name: onDemandResource(machine.name), props: { ...inputs } }];
}
