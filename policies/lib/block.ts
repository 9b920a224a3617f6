import { knownMaps } from "@local-serving/vllm/argv/unknown";
import { LABEL, TYPE } from "../../components/planned";
import { serviceNamed } from "../../components/services";
import { onOtherMachine } from "../../components/services/bridge";
import { type DeclaredResource, displayName, knownText } from "./container";
import { roleOf } from "./role";

/**
 * The block of a machine of ours, of one of its servers by its container's name, or of a container
 * of ours.
 */
export function blockOf(resource: DeclaredResource, server?: string): string[] | undefined {
  const { type, name, props } = resource;
  if (type === TYPE.machine) {
    if (server === undefined) return ["machines", name];
    const { key } = knownMaps(props.servers).find((each) => each.name === server) ?? {};
    return typeof key === "string" ? serverBlock(name, key) : undefined;
  }
  if (type === TYPE.onDemand) {
    const machine = knownText(props.machine);
    return machine === undefined ? undefined : ["machines", machine, "onDemand"];
  }
  const labels = new Map(knownMaps(props.labels).map(({ label, value }) => [label, value]));
  const [machine, key] = [labels.get(LABEL.machine), labels.get(LABEL.server)];
  if (typeof machine !== "string") return undefined;
  if (typeof key === "string") return serverBlock(machine, key);
  const service = serviceNamed(roleOf(resource) ?? "");
  return service && ["machines", machine, service.key];
}

/** Where a server is declared; a worker goes by its head's machine and key. */
function serverBlock(machine: string, name: string): string[] {
  const { on, key } = onOtherMachine(name) ?? { on: machine, key: name };
  return ["machines", on, "inferenceServers", key];
}

/** The name for a message: the key of a block of ours, else the container's own name. */
export const nameOf = (resource: DeclaredResource): string =>
  blockOf(resource)?.at(-1) ?? displayName(resource);

/** The same of a server by its container's name, as a machine of ours has it. */
export const serverName = (machine: DeclaredResource | undefined, container: string): string =>
  (machine && blockOf(machine, container)?.at(-1)) ?? container;

/** Names of two containers: their own where ours are the same on two machines. */
export const namesOf = (one: DeclaredResource, other: DeclaredResource): [string, string] =>
  nameOf(one) === nameOf(other)
    ? [displayName(one), displayName(other)]
    : [nameOf(one), nameOf(other)];
