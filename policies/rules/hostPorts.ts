import { EVERY_ADDRESS } from "@local-serving/machines/address";
import { groupOf } from "@local-serving/vllm/argv/group";
import { isText, knownMap, text, UNKNOWN } from "@local-serving/vllm/argv/unknown";
import { gatePort, TYPE } from "../../components/planned";
import { nameOf, namesOf } from "../lib/block";
import { type DeclaredResource, type PublishedPort, publishedPorts } from "../lib/container";
import { readContainer, serversIn } from "../lib/inferenceServer";
import { byMachine, type MachineGroup } from "../lib/machines";
import { onComputers } from "../lib/oneComputer";
import { type Finding, type Rule, violation } from "./rule";

/** Instance A's port (specification, "Processes and ports"). */
const INSTANCE_A_PORT = "8000";
/** Where vLLM listens when no `--port` is given. */
const VLLM_DEFAULT_PORT = "8000";

/** Two programs can't listen on one port of a machine, and 8000 belongs to instance A. */
export const hostPorts: Rule = {
  name: "host-ports",
  description:
    "A host port is used once per machine, the simple server's port on the host by that alone, and port 8000 only by the host-installed instance A, unless the machine has none.",
  level: "mandatory",
  of: TYPE.container,
  judgeResource(resource) {
    const ports = takenPorts(resource);
    if (ports === UNKNOWN) return notKnown(resource, "`ports`");
    return ports.flatMap((port, index) => {
      return port.port === UNKNOWN ? notKnown(resource, `\`ports[${index}].external\``) : [];
    });
  },
  judgeStack: (resources) => [
    ...onComputers(resources).flatMap((group) => [...usedTwice(group), ...onHostInstance(group)]),
    ...byMachine(resources).flatMap(onSimpleServer),
  ],
};

/** A port that a container takes, with the setting that chooses it where that isn't `port`. */
type TakenPort = PublishedPort & { readonly setting?: "masterPort" };

/** The ports that a container takes, `UNKNOWN` when the list itself is not known. */
function takenPorts(container: DeclaredResource): readonly TakenPort[] | typeof UNKNOWN {
  if (text(container.props.networkMode) !== "host") return publishedPorts(container.props);
  // In the host's network nothing is published: the server's own port is the host's port.
  return serversIn(container).flatMap((server): TakenPort[] => {
    const given = server.options.get("port")?.[0] ?? VLLM_DEFAULT_PORT;
    const at = { address: EVERY_ADDRESS, protocol: "tcp" };
    const api: TakenPort = { ...at, port: isText(given) ? given : UNKNOWN };
    const group = groupOf(server);
    if (group === undefined) return [api];
    // Its processes meet at one, and their start gates at the next.
    const meeting = [group.port, gatePort(group.port)].map((port): TakenPort => {
      return { ...at, port: String(port), setting: "masterPort" };
    });
    return group.headless ? meeting : [api, ...meeting];
  });
}

/** A port with what takes it: a container, or llama-swap. */
interface Taken {
  readonly container: DeclaredResource;
  readonly port: TakenPort;
}

/** The ports that the containers and llama-swap of a machine take, as far as they are known. */
function portsOn({ containers, onDemand }: MachineGroup): Taken[] {
  return [
    ...containers.flatMap((container): Taken[] => {
      const ports = takenPorts(container);
      return ports === UNKNOWN ? [] : ports.map((port) => ({ container, port }));
    }),
    ...onDemand.map((container): Taken => {
      const { address, port } = container.props;
      return { container, port: { address: text(address), port: text(port), protocol: "tcp" } };
    }),
  ];
}

/**
 * Only an inference server must say its ports; an unrelated container may leave them to the update.
 */
function notKnown(resource: DeclaredResource, what: string): Finding | [] {
  if (readContainer(resource).kind === "no") return [];
  const message = `A port of ${nameOf(resource)} is not known before the update. Give ${what} as a plain number: it may be instance A's port ${INSTANCE_A_PORT}.`;
  return violation(resource, message);
}

/** A port that nothing of the machine takes, as far as is known, and where to write it. */
function freePort(
  group: MachineGroup,
  { setting = "port" }: { readonly setting?: "port" | "masterPort" },
) {
  const taken = [
    ...portsOn(group).map(({ port }) => port.port),
    ...hostInstancePorts(group),
    simpleServerPort(group)?.port,
  ];
  const isTaken = (port: number) => taken.includes(String(port));
  let value = setting === "port" ? 8001 : 29_501;
  while (isTaken(value) || (setting === "masterPort" && isTaken(gatePort(value)))) value += 1;
  return { setting, value };
}

function usedTwice(group: MachineGroup): Finding[] {
  const taken = portsOn(group);
  return taken.flatMap(({ container, port }, index) => {
    const other = taken.slice(0, index).find((each) => collide(each.port, port));
    if (other === undefined) return [];
    const change = freePort(group, port);
    const [own, its] = namesOf(container, other.container);
    const message = `${own} and ${its} both take host port ${String(port.port)}/${port.protocol}. Give one of them another port, such as ${change.value}. They listen on ${addressText(port)} and ${addressText(other.port)}.`;
    return violation(container, message, change);
  });
}

function collide(a: PublishedPort, b: PublishedPort): boolean {
  if (typeof a.port !== "string" || a.port !== b.port || a.protocol !== b.protocol) return false;
  // An address that is not known may be the same one.
  const everywhere: readonly unknown[] = [UNKNOWN, EVERY_ADDRESS, "::", "[::]", "*"];
  return (
    a.address === b.address || everywhere.includes(a.address) || everywhere.includes(b.address)
  );
}

const addressText = (port: PublishedPort): string =>
  port.address === UNKNOWN ? "an address that is not known yet" : String(port.address);

/**
 * Nobody else may use instance A's ports: 8000, unless the machine says that it has no instance A,
 * and any other that is declared.
 */
function hostInstancePorts(group: MachineGroup) {
  const host = group.component?.props.hostInstance;
  return [
    ...group.hostInstances.map((instance) => text(instance.props.port)),
    text(knownMap(host).port),
    ...(host === "none" && group.hostInstances.length === 0 ? [] : [INSTANCE_A_PORT]),
  ];
}

function onHostInstance(group: MachineGroup): Finding[] {
  const declared = hostInstancePorts(group);
  return portsOn(group).flatMap(({ container, port }) => {
    if (typeof port.port !== "string" || !declared.includes(port.port)) return [];
    const change = freePort(group, port);
    const message = `${nameOf(container)} takes host port ${port.port}, which is instance A's. Publish another port, such as ${change.value}.`;
    return violation(container, message, change);
  });
}

/** Where the simple server listens; `undefined` where none is on the host. */
function simpleServerPort({ component }: MachineGroup): PublishedPort | undefined {
  const { mode, listen, port } = knownMap(component?.props.simpleServer);
  if (text(mode) !== "host") return undefined;
  return { address: text(listen), port: text(port), protocol: "tcp" };
}

function onSimpleServer(group: MachineGroup): Finding[] {
  const simple = simpleServerPort(group);
  if (simple === undefined) return [];
  return portsOn(group).flatMap(({ container, port }) => {
    if (!collide(port, simple)) return [];
    const change = freePort(group, port);
    const message = `${nameOf(container)} takes host port ${String(port.port)}, where Ollama listens. Publish another port, such as ${change.value}.`;
    return violation(container, message, change);
  });
}
