import { figure, knownMap, knownMaps, text } from "@local-serving/vllm/argv/unknown";
import { OPERATING_SYSTEM } from "../../components/planned";
import { type DeclaredResource, knownText } from "./container";
import { byComputer, type MachineGroup } from "./machines";
import { declaredSets, largestTogether } from "./together";

/**
 * What shares a computer: the group of its machine, or one group of all its machines. The component
 * of such a group says of their memory together what each of theirs says of its own, but how large a
 * share may be: that was worked out for one machine alone.
 */
export const onComputers = (resources: readonly DeclaredResource[]): readonly MachineGroup[] =>
  byComputer(resources).flatMap((groups) => (groups.length > 1 ? [joined(groups)] : groups));

/** Names of the machines that a group's component speaks of, where several share a computer. */
export const machinesIn = (component: DeclaredResource | undefined): string | undefined =>
  knownText(component?.props.machines);

function joined(groups: readonly MachineGroup[]): MachineGroup {
  const all = (of: "containers" | "hostInstances" | "serverRecords" | "onDemand") => [
    ...new Set(groups.flatMap((group) => group[of])),
  ];
  const machines = [...new Set(groups.flatMap(({ machine }) => machine ?? []))].join(" and ");
  return {
    machine: machines,
    containers: all("containers"),
    hostInstances: oneByPort(all("hostInstances")),
    serverRecords: all("serverRecords"),
    onDemand: all("onDemand"),
    component: joinedComponent(
      groups.flatMap(({ component }) => component ?? []),
      machines,
    ),
  };
}

/** Two machines of a computer may both declare its instance A: a port has one program. */
function oneByPort(instances: readonly DeclaredResource[]): DeclaredResource[] {
  const read = ({ props }: DeclaredResource) => ({
    machine: knownText(props.machine),
    port: knownText(props.port),
    share: figure(props.gpuMemoryUtilization),
  });
  return instances.filter((instance, index) => {
    const own = read(instance);
    return !instances.map(read).some(({ machine, port, share }, at) => {
      const isSame = machine !== own.machine && port !== undefined && port === own.port;
      return isSame && (share > own.share || (share === own.share && at < index));
    });
  });
}

function joinedComponent(
  components: readonly DeclaredResource[],
  machines: string,
): DeclaredResource | undefined {
  const last = components.at(-1);
  if (last === undefined) return undefined;
  const hosts = components.map(({ props }) => props.hostInstance).filter((host) => host !== "none");
  const figures = (of: "totalGiB" | "gpus") =>
    components.map(({ props }) => figure(props[of])).filter(Number.isFinite);
  const props = {
    machines,
    totalGiB: Math.min(...figures("totalGiB")),
    gpus: Math.max(1, ...figures("gpus")),
    hostInstance: hosts.length === 0 ? "none" : hosts[0],
    memory: components.some(({ props }) => props.memory !== undefined)
      ? joinedMemory(components)
      : undefined,
  };
  return { ...last, props };
}

function joinedMemory(components: readonly DeclaredResource[]) {
  const memories = components.map(({ props }) => knownMap(props.memory));
  return {
    lines: joinedLines(components),
    fixedKvCache: Object.assign({}, ...memories.map((each) => knownMap(each.fixedKvCache))),
    together: {
      servers: components.flatMap((each) => declaredSets(each).servers),
      // Nothing keeps a set of one machine from running beside any of another.
      sets: [components.flatMap(largestTogether)],
    },
  };
}

/** A line of instance A, or of what it takes beside its share. */
const OF_INSTANCE_A = /^instance A(: |$)/;

/** The lines of all machines. What a computer has once counts once, by its largest line. */
function joinedLines(components: readonly DeclaredResource[]) {
  const lines = components.flatMap(({ props }) => knownMaps(knownMap(props.memory).lines));
  const ports = new Set(components.map(({ props }) => text(knownMap(props.hostInstance).port)));
  ports.delete(undefined);
  const isOnce = (name: string | undefined) =>
    name === OPERATING_SYSTEM || (ports.size === 1 && OF_INSTANCE_A.test(name ?? ""));
  return lines.filter((line, index) => {
    const [name, gib] = [knownText(line.name), figure(line.gib)];
    const isSmaller = lines.some(
      (other, at) =>
        knownText(other.name) === name &&
        (figure(other.gib) > gib || (figure(other.gib) === gib && at < index)),
    );
    return !(isOnce(name) && isSmaller);
  });
}
