import { INSTANCE_A } from "../../components/planned/fields";
import type { OneMachine } from "../stack/readStack";

/** Who listens on the ports of a machine, as far as its stack file says it. */
export function declaredPorts({ settings, machine }: OneMachine): ReadonlyMap<number, string> {
  const { hostInstance, onDemand, containers } = machine;
  return new Map([
    ...containers.flatMap(({ name, ports }) => ports.map(({ host }) => [host, name] as const)),
    ...(onDemand === undefined ? [] : [[onDemand.port, "onDemand"] as const]),
    ...(hostInstance === "none" ? [] : [[hostInstance.port, INSTANCE_A] as const]),
    ...Object.entries(settings.inferenceServers).map(([key, { port }]) => [port, key] as const),
  ]);
}

/** Which server of a machine answers to each name that its stack file says. */
export function declaredNames({ settings }: OneMachine): ReadonlyMap<string, string> {
  const { instanceA, inferenceServers } = settings;
  const ofA = instanceA === "none" ? undefined : instanceA.servedModelName;
  return new Map([
    ...(ofA === undefined ? [] : [[ofA, INSTANCE_A] as const]),
    ...Object.entries(inferenceServers).flatMap(([key, { servedModelName, aliases, adapters }]) =>
      [servedModelName, ...(aliases ?? []), ...adapters.map((each) => each.name)].map(
        (name) => [name, key] as const,
      ),
    ),
  ]);
}
