import { knownMap, list, text, UNKNOWN } from "@local-serving/vllm/argv/unknown";
import { TYPE } from "../../components/planned";
import { containerName, type DeclaredResource, knownText, ofType, valueInWords } from "./container";
import { byKernel, machineOf, type NamedMachine, placementOf } from "./placement";

/** Containers and declarations that share one machine. */
export interface MachineGroup {
  /** The machine's name; `undefined` when nothing in the program names one. */
  readonly machine: string | undefined;
  /** Its computer, where the hosts of Docker's providers alone tell it from others. */
  readonly computer?: string;
  readonly containers: readonly DeclaredResource[];
  /** Declarations of host-installed instances on it. */
  readonly hostInstances: readonly DeclaredResource[];
  /** What the program says of inference servers on it, beside their containers. */
  readonly serverRecords: readonly DeclaredResource[];
  /** What it has of llama-swap. */
  readonly onDemand: readonly DeclaredResource[];
  /** Its machine component, where there is one. */
  readonly component: DeclaredResource | undefined;
}

type Computers = readonly (readonly MachineGroup[])[];

/** Several rules group the same resources. */
const grouped = new WeakMap<readonly DeclaredResource[], Computers>();

/**
 * What a program declares by computer, and there by machine. Most computers have one machine. The
 * memory and the ports of several that share one are theirs together.
 */
export function byComputer(resources: readonly DeclaredResource[]): Computers {
  const computers = grouped.get(resources) ?? computersOf(resources);
  grouped.set(resources, computers);
  return computers;
}

/** Containers by the machine that they run on, as `placementOf` tells. */
export const byMachine = (resources: readonly DeclaredResource[]): readonly MachineGroup[] =>
  byComputer(resources).flat();

/**
 * Puts each container on every machine that it may be on, so that no sum comes out too small. Only
 * known hosts that differ tell that two containers aren't on one.
 */
function computersOf(resources: readonly DeclaredResource[]): MachineGroup[][] {
  const { machines, computerOf, machinesOf } = placementOf(resources);
  const containers = ofType(resources, TYPE.container);
  const containersOn = byNames(containers, machinesOf);
  const groupOf = groupsOf(resources);
  const apart = (machine: NamedMachine | undefined, its: readonly DeclaredResource[]) => {
    const among = machine?.computers.size ? [] : its.flatMap((each) => computerOf(each) ?? []);
    if (among.length === 0) return [groupOf(machine?.name, its)];
    return [...new Set(among)].map((computer) => {
      const here = its.filter((each) => (computerOf(each) ?? computer) === computer);
      return { ...groupOf(machine?.name, here), computer };
    });
  };
  const named = byKernel(machines).flatMap((some) => {
    const groups = some.flatMap((machine) => apart(machine, containersOn(machine.name)));
    return some.length === 1 ? groups.map((group) => [group]) : [groups];
  });
  const elsewhere = containers.filter((each) => machinesOf(each)?.length === 0);
  if (elsewhere.length === 0 && machines.length > 0) return named;
  const others = containers.filter((each) => !machinesOf(each)?.length);
  return [...named, ...apart(undefined, others).map((group) => [group])];
}

/** What is declared of machines, beside their containers. */
const OF_MACHINES = [TYPE.hostInstance, TYPE.inferenceServer, TYPE.onDemand, TYPE.machine];

/** Makes the group of a machine with containers, from what a program declares of it. */
function groupsOf(resources: readonly DeclaredResource[]) {
  // A declaration that names no machine holds for each.
  const declaredOf = byNames(
    OF_MACHINES.flatMap((type) => ofType(resources, type)),
    (resource) => {
      const machine = machineOf(resource);
      return machine === undefined ? undefined : [machine];
    },
  );
  return (machine: string | undefined, containers: readonly DeclaredResource[]): MachineGroup => {
    const here = declaredOf(machine);
    return {
      machine,
      containers,
      hostInstances: ofType(here, TYPE.hostInstance),
      serverRecords: ofType(here, TYPE.inferenceServer),
      onDemand: ofType(here, TYPE.onDemand),
      component: ofType(here, TYPE.machine)[0],
    };
  };
}

/** Finds those with a name, among them those without any, in the order in which they are given. */
function byNames(
  resources: readonly DeclaredResource[],
  namesOf: (resource: DeclaredResource) => readonly string[] | undefined,
): (name: string | undefined) => readonly DeclaredResource[] {
  const unnamed: DeclaredResource[] = [];
  const named = new Map<string | undefined, DeclaredResource[]>();
  for (const resource of resources) {
    const names = namesOf(resource);
    if (names === undefined) for (const each of [unnamed, ...named.values()]) each.push(resource);
    for (const name of names ?? []) {
      const each = named.get(name) ?? [...unnamed];
      each.push(resource);
      named.set(name, each);
    }
  }
  return (name) => named.get(name) ?? unnamed;
}

/**
 * What a program says of an inference server that its arguments don't: the model's kind and who
 * uses it.
 */
export interface ServerRecord {
  readonly resource: DeclaredResource;
  /** Absent where the container that it speaks of isn't declared. */
  readonly container: DeclaredResource | undefined;
  /** Its container's name and its model, for a message. */
  readonly containerNamed: string;
  readonly model: string;
  readonly kind: string | undefined;
  /** Whether the model has a thinking mode; `undefined` when nothing says so. */
  readonly thinking: boolean | undefined;
  readonly codingClients: readonly string[];
}

/** Each record of a machine, with the container that it speaks of where that is declared. */
export function serverRecords({ serverRecords, containers }: MachineGroup): ServerRecord[] {
  return serverRecords.map((resource) => {
    const model = knownMap(resource.props.model);
    const clients = list(resource.props.codingClients);
    const named = text(resource.props.container);
    return {
      resource,
      container: containers.find((each) => containerName(each) === named || each.name === named),
      containerNamed: valueInWords(named),
      model: valueInWords(text(model.id)),
      kind: knownText(model.kind),
      thinking: typeof model.thinking === "boolean" ? model.thinking : undefined,
      codingClients: clients === UNKNOWN ? ["a client that is not known yet"] : clients.map(String),
    };
  });
}
