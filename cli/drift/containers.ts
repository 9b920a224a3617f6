import { type JsonObject, objectOr, textOr } from "@local-serving/base/faults/json";
import { redactSecrets } from "@local-serving/base/faults/secrets";
import {
  type ContainerState,
  containersOf,
  textsOf,
} from "@local-serving/machines/docker/containers";
import { variablesIn } from "@local-serving/machines/shell";
import { argumentChanges } from "../../components/change";
import type { PlannedContainer } from "../../components/planned";
import { offNetworks } from "../sees/network";
import { isStoppedAsPlanned } from "../sees/onRequest";
import { type Difference, differs, isNot } from "./difference";

/** What is found in the place of a network that was removed. */
export const REMOVED = "removed";

/**
 * How a container differs from its plan, by what `docker inspect` says of it (`undefined` if there
 * is none), and by the ids of Docker's networks, where they are known.
 */
export function containerDifferences(
  planned: PlannedContainer,
  inspected: JsonObject | undefined,
  networkIds?: ReadonlyMap<string, string>,
): Difference[] {
  const [state] = containersOf([inspected]);
  if (inspected === undefined || state === undefined)
    return [isNot("container", "running", "not there")];
  const networks = Object.keys(objectOr(objectOr(inspected.NetworkSettings).Networks));
  return [
    ...(state.status === "running" || isStoppedAsPlanned(planned, state)
      ? []
      : [isNot("status", "running", state.status)]),
    ...offNetworks(planned, inspected, networkIds).map(({ network, removed }) =>
      removed
        ? {
            ...differs("network", network, REMOVED),
            says: `needs the network ${network}, which was removed`,
          }
        : differs("network", network, networks.join(", ") || null),
    ),
    ...argumentChanges(planned, asRun(planned, inspected, state))
      .sort((a, b) => Number(b.argument === "image") - Number(a.argument === "image"))
      .map(({ argument, before, after }) =>
        differs(argument, before, after && shown(argument, after)),
      ),
  ];
}

/** What runs was perhaps written by hand, a secret in it. */
function shown(argument: string, value: string): string {
  const name = `${argument.replace(/^env /, "")}=`;
  return redactSecrets(`${name}${value}`).slice(name.length);
}

/**
 * The plan with what really runs in the place of what we give: of an image's own variables, labels
 * and mounts nothing is known.
 */
function asRun(
  planned: PlannedContainer,
  inspected: JsonObject,
  state: ContainerState,
): PlannedContainer {
  const [config, host] = [objectOr(inspected.Config), objectOr(inspected.HostConfig)];
  const { image, labels, ports, mounts } = state;
  const onlyOurs = (
    found: Iterable<readonly [string, string]>,
    ours: Readonly<Record<string, string>>,
  ) => Object.fromEntries([...found].filter(([name]) => name in ours));
  return {
    ...planned,
    image,
    command: planned.command.length === 0 ? [] : textsOf(config.Cmd),
    entrypoint: planned.entrypoint && textsOf(config.Entrypoint),
    env: onlyOurs(variablesIn(textsOf(config.Env)), planned.env),
    labels: onlyOurs(Object.entries(labels), planned.labels),
    ports: ports.map((port) => ({ ...port, container: Number.parseInt(port.container, 10) })),
    mounts: planned.mounts.flatMap(({ target, readOnly }) =>
      mounts
        .filter((each) => each.target === target)
        .map(({ type, source }) => ({
          type: type === "bind" ? type : "volume",
          source,
          target,
          readOnly,
        })),
    ),
    // Anybody may have given it another policy.
    restart: textOr(objectOr(host.RestartPolicy).Name) as PlannedContainer["restart"],
  };
}
