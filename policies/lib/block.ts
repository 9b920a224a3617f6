import { onOtherMachine } from "../../components/bridge";
import { LABEL, TYPE } from "../../components/planned";
import { serviceNamed } from "../../components/services";
import { knownMaps } from "../../vllm/argv/unknown";
import { type DeclaredResource, knownText } from "./container";
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
