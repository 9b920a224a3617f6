import { computerAt, isTunnel } from "@local-serving/machines/address";
import { knownMaps } from "@local-serving/vllm/argv/unknown";
import { TYPE } from "../../components/planned";
import { DOCKER_PROVIDER, placesIn } from "./computers";
import { containerName, type DeclaredResource, grouped, knownText, ofType } from "./container";

/** A machine that a program names, and what tells where it is. */
export interface NamedMachine {
  readonly name: string;
  readonly engines: ReadonlySet<string>;
  readonly computers: ReadonlySet<string>;
  readonly bootId: string | undefined;
}

/** Where the containers of a program run. */
interface Placement {
  readonly machines: readonly NamedMachine[];
  /** The computer of a container that no machine is said to have, where its provider tells. */
  readonly computerOf: (container: DeclaredResource) => string | undefined;
  /**
   * Names of the machines that a container is on, or may be on; none where it is on a computer that
   * is none of theirs; `undefined` where nothing tells.
   */
  readonly machinesOf: (container: DeclaredResource) => readonly string[] | undefined;
}

/** The machine that a resource says it belongs to, or is. */
export function machineOf(resource: DeclaredResource): string | undefined {
  return (
    knownText(resource.props.machine) ??
    (resource.type === TYPE.machine ? resource.name : undefined)
  );
}

/**
 * Finds the machine of each container: by the machine component above it, the machine that its
 * provider names, what an InferenceServer or a machine component says of its name, the name of its
 * provider's host, else the Docker engine that it shares with such a container. Where nothing tells,
 * it may be on each machine that isn't known to be on another computer.
 */
export function placementOf(resources: readonly DeclaredResource[]): Placement {
  const placeIn = onceForEach(placesIn(resources));
  const declaring = [TYPE.machine, TYPE.hostInstance, TYPE.inferenceServer, TYPE.onDemand].flatMap(
    (type) => ofType(resources, type),
  );
  const names = new Set(declaring.flatMap((resource) => machineOf(resource) ?? []));
  const told = onceForEach(toldIn(resources, names, (resource) => placeIn(resource).computer));
  const placed = grouped(
    [TYPE.container, DOCKER_PROVIDER].flatMap((type) => ofType(resources, type)),
    told,
  );
  const componentsOf = grouped(ofType(declaring, TYPE.machine), machineOf);
  const machines = [...names].map((name): NamedMachine => {
    const places = (placed.get(name) ?? []).map(placeIn);
    const components = componentsOf.get(name) ?? [];
    return {
      name,
      engines: new Set(places.flatMap(({ engine }) => engine ?? [])),
      computers: new Set([
        // A container without a provider says nothing of its machine's.
        ...places.flatMap(({ engine, computer, isTunnel: leadsOn = false }) =>
          engine === undefined || leadsOn ? [] : (computer ?? []),
        ),
        ...components.flatMap((component) => plannedComputer(component) ?? []),
      ]),
      bootId: components.find(({ bootId }) => bootId !== undefined)?.bootId,
    };
  });
  const onEngine = namesByEngine(machines);
  const saidToHave = onceForEach((container: DeclaredResource) => {
    const { engine } = placeIn(container);
    return [...new Set([told(container) ?? [], onEngine.get(engine) ?? []].flat())];
  });
  const computerOf = (container: DeclaredResource) =>
    saidToHave(container).length > 0 ? undefined : placeIn(container).computer;
  const machinesOf = (container: DeclaredResource) => {
    const on = saidToHave(container);
    if (on.length > 0) return on;
    const { computer } = placeIn(container);
    return computer === undefined
      ? undefined
      : machines
          .filter(({ computers: its }) => its.size === 0 || its.has(computer))
          .map(({ name }) => name);
  };
  return { machines, computerOf, machinesOf };
}

/** Each machine asks the same of each container. */
function onceForEach<T>(find: (resource: DeclaredResource) => T): typeof find {
  const found = new Map<DeclaredResource, { readonly value: T }>();
  return (resource) => {
    const known = found.get(resource) ?? { value: find(resource) };
    found.set(resource, known);
    return known.value;
  };
}

/** Names of the machines on each Docker engine that is known. */
function namesByEngine(machines: readonly NamedMachine[]): Map<string | undefined, string[]> {
  const places = machines.flatMap(({ name, engines }) =>
    [...engines].map((engine) => ({ name, engine })),
  );
  return new Map(
    [...grouped(places, ({ engine }) => engine)].map(([engine, its]) => [
      engine,
      its.map(({ name }) => name),
    ]),
  );
}

/** The computer of a planned machine, unless its address is a tunnel to another one. */
function plannedComputer({ dockerHost }: DeclaredResource): string | undefined {
  return dockerHost === undefined || isTunnel({ dockerHost })
    ? undefined
    : computerAt({ dockerHost });
}

/** Finds the machine that a program says a container or a provider is on. */
function toldIn(
  resources: readonly DeclaredResource[],
  names: ReadonlySet<string | undefined>,
  computerOf: Placement["computerOf"],
): (resource: DeclaredResource) => string | undefined {
  const stated = statedMachines(resources);
  const byUrn = new Map(resources.map((resource) => [resource.urn, resource]));
  const above = (resource: DeclaredResource): string | undefined => {
    const parent = resource.parent === undefined ? undefined : byUrn.get(resource.parent);
    if (parent === undefined) return undefined;
    return parent.type === TYPE.machine ? machineOf(parent) : above(parent);
  };
  return (resource) => {
    const said = stated.get(containerName(resource)) ?? stated.get(resource.name);
    const named = (name: string | undefined) => (names.has(name) ? name : undefined);
    return (
      above(resource) ??
      named(resource.provider) ??
      // A name that two machines use says nothing about which of them is meant.
      (said?.size === 1 ? [...said][0] : undefined) ??
      named(computerOf(resource))
    );
  };
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
 * Machines by the computer that they are on. Boot ids of their kernels tell, where both are known,
 * else the hosts of their Docker engines.
 */
export function byKernel(machines: readonly NamedMachine[]): NamedMachine[][] {
  return machines.reduce<NamedMachine[][]>((computers, machine) => {
    const its = computers.filter((some) => some.some((each) => isOne(each, machine)));
    return [...computers.filter((some) => !its.includes(some)), [...its.flat(), machine]];
  }, []);
}

function isOne(one: NamedMachine, other: NamedMachine): boolean {
  if (meet(one.engines, other.engines)) return true;
  return one.bootId === undefined || other.bootId === undefined
    ? meet(one.computers, other.computers)
    : one.bootId === other.bootId;
}

function meet(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  for (const each of one) if (other.has(each)) return true;
  return false;
}
