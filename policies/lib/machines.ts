import { TYPE } from "../../components/planned";
import { canonicalEngine, HERE } from "../../machines/address";
import { knownMap, knownMaps, list, text, UNKNOWN } from "../../vllm/argv/unknown";
import { containerName, type DeclaredResource, knownText, ofType, valueInWords } from "./container";

/** Containers and declarations that share one machine. */
export interface MachineGroup {
  /** The machine's name; `undefined` when nothing in the program names one. */
  readonly machine: string | undefined;
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

/** Several rules group the same resources. */
const grouped = new WeakMap<readonly DeclaredResource[], readonly MachineGroup[]>();

/** Containers by the machine that they run on, as `groupsOf` tells. */
export function byMachine(resources: readonly DeclaredResource[]): readonly MachineGroup[] {
  const groups = grouped.get(resources) ?? groupsOf(resources);
  grouped.set(resources, groups);
  return groups;
}

/**
 * Groups containers by the machine that they run on: the machine component above them, the machine
 * that their provider names, what an InferenceServer or a machine component says of their name, the
 * Docker provider that they share with such a container, else the only machine there is. Where
 * several machines are declared and nothing tells, a container is put on each of them, so that no
 * sum comes out too small.
 */
function groupsOf(resources: readonly DeclaredResource[]): MachineGroup[] {
  const containers = ofType(resources, TYPE.container);
  const declaring = [TYPE.machine, TYPE.hostInstance, TYPE.inferenceServer, TYPE.onDemand].flatMap(
    (type) => ofType(resources, type),
  );
  const machines = [...new Set(declaring.flatMap((resource) => machineOf(resource) ?? []))];
  const places = placesOf(resources, containers, machines);
  const names: readonly (string | undefined)[] = machines.length === 0 ? [undefined] : machines;
  return names.map((machine) => {
    // A declaration that names no machine holds for each.
    const here = declaring.filter((resource) => (machineOf(resource) ?? machine) === machine);
    return {
      machine,
      containers: containers.filter((container) => places.get(container)?.includes(machine)),
      hostInstances: ofType(here, TYPE.hostInstance),
      serverRecords: ofType(here, TYPE.inferenceServer),
      onDemand: ofType(here, TYPE.onDemand),
      component: ofType(here, TYPE.machine)[0],
    };
  });
}

function machineOf(resource: DeclaredResource): string | undefined {
  return (
    knownText(resource.props.machine) ??
    (resource.type === TYPE.machine ? resource.name : undefined)
  );
}

function placesOf(
  resources: readonly DeclaredResource[],
  containers: readonly DeclaredResource[],
  machines: readonly string[],
): Map<DeclaredResource, readonly (string | undefined)[]> {
  const stated = statedMachines(resources);
  const engineOf = engines(resources);
  const byUrn = new Map(resources.map((resource) => [resource.urn, resource]));
  const above = (resource: DeclaredResource): string | undefined => {
    const parent = resource.parent === undefined ? undefined : byUrn.get(resource.parent);
    if (parent === undefined) return undefined;
    return parent.type === TYPE.machine ? machineOf(parent) : above(parent);
  };
  const told = (container: DeclaredResource): string | undefined => {
    const said = stated.get(containerName(container)) ?? stated.get(container.name);
    return (
      above(container) ??
      machines.find((machine) => machine === container.provider) ??
      // A name that two machines use says nothing about which of them is meant.
      (said?.size === 1 ? [...said][0] : undefined)
    );
  };
  // What is said of one container of a Docker engine holds for all of them.
  const ofEngine = new Map<string | undefined, Set<string>>();
  for (const container of containers) {
    const machine = told(container);
    const engine = engineOf(container);
    if (machine === undefined || engine === undefined) continue;
    ofEngine.set(engine, (ofEngine.get(engine) ?? new Set()).add(machine));
  }
  const anywhere = machines.length === 0 ? [undefined] : machines;
  return new Map(
    containers.map((container) => {
      const own = told(container);
      return [
        container,
        [...(ofEngine.get(engineOf(container)) ?? (own === undefined ? anywhere : [own]))],
      ];
    }),
  );
}

/** Docker's provider, as a program declares it. */
const DOCKER_PROVIDER = "pulumi:providers:docker";

/**
 * Finds the Docker engine of a container: by the host of its provider, whatever way it is written,
 * else by the provider.
 */
function engines(
  resources: readonly DeclaredResource[],
): (container: DeclaredResource) => string | undefined {
  const hosts = new Map(
    ofType(resources, DOCKER_PROVIDER).flatMap(({ urn, props: { host } }) => {
      const dockerHost = host === undefined ? HERE : knownText(host);
      return dockerHost === undefined ? [] : [[urn, canonicalEngine({ dockerHost })] as const];
    }),
  );
  return ({ provider }) => (provider === undefined ? undefined : (hosts.get(provider) ?? provider));
}

/** Container name to the machines that are said to run it. */
function statedMachines(resources: readonly DeclaredResource[]): Map<unknown, ReadonlySet<string>> {
  const stated = new Map<unknown, Set<string>>();
  const state = (name: unknown, machine: string | undefined) => {
    if (machine === undefined) return;
    stated.set(name, (stated.get(name) ?? new Set()).add(machine));
  };
  for (const server of ofType(resources, TYPE.inferenceServer))
    state(server.props.container, machineOf(server));
  for (const component of ofType(resources, TYPE.machine)) {
    for (const { name } of knownMaps(component.props.servers)) state(name, machineOf(component));
  }
  return stated;
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
