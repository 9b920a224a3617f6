import { containerArgs } from "../host/containerArgs";
import { imageRecordName, serverInputs } from "../inference-server/plannedServer";
import { onDemandInputs } from "../on-demand/onDemandInputs";
import { onDemandResource } from "../on-demand/plannedOnDemand";
import { type MachinePlan, type Plan, serversOn } from "../plan/types";
import { TYPE } from "../planned/type";
import { machineFacts } from "./machineFacts";

/** A resource as the policies see it. */
export interface Declared {
  readonly type: string;
  readonly name: string;
  /** Machine that a container runs on; in the engine its provider says so. */
  readonly provider?: string;
  /** What a container is for; in the engine the components above it say so. */
  readonly role?: string;
  readonly props: Readonly<Record<string, unknown>>;
}

/**
 * The resources that policies judge, taken from the plan without an engine. The container arguments
 * are the very objects that the program hands to `docker.Container`.
 */
export function declaredResources(plan: Plan): Declared[] {
  return plan.machines.flatMap(machineResources);
}

function machineResources(machine: MachinePlan): Declared[] {
  const { name, hostInstance } = machine;
  return [
    { type: TYPE.machine, name, props: machineFacts(machine) },
    ...(hostInstance === "none"
      ? []
      : [
          {
            type: TYPE.hostInstance,
            name: `${name}-instance-a`,
            props: { machine: name, ...hostInstance },
          },
        ]),
    ...serversOn(machine).flatMap((server): Declared[] => {
      const { resource } = server.container;
      return [
        {
          type: TYPE.imageRecord,
          name: imageRecordName(resource),
          props: { ...server.imageRecord },
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
