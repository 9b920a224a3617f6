import { defined } from "@local-serving/base/faults/defined";
import { isOverSsh } from "@local-serving/machines/address";
import { dataCopiesOf } from "@local-serving/machines/copies/dataCopies";
import { SSH_OPTIONS } from "@local-serving/machines/onMachine";
import { type Container, Network, Provider, Volume } from "@pulumi/docker";
import {
  ComponentResource,
  type ComponentResourceOptions,
  mergeOptions,
  type Output,
  type Resource,
} from "@pulumi/pulumi";
import { Client } from "../../clients";
import { type BeforeContainer, commandsOn, HostFile, secretFileArgs } from "../../host";
import { gateVolume, InferenceServer } from "../../inference-server";
import type { MachinePlan } from "../../plan";
import { HarnessFiles } from "../../plan/harness-files";
import { Monitoring } from "../../plan/monitoring";
import { answers, type FileRole, LABEL, neededBy, serversOn, TYPE } from "../../planned";
import { serviceNamed } from "../../services";
import { RunningService, type RunningServiceArgs } from "../../services/kind";
import { OnDemand, onDemandResource } from "../../services/on-demand";
import { SimpleServer } from "../../services/simple-server";
import { HostInstance } from "./hostInstance";
import { hostInstanceFacts, machineFacts } from "./machineFacts";

export interface MachineArgs {
  readonly machine: MachinePlan;
  /** Docker engine to talk to. It is the machine's own, except in a preview where none answers. */
  readonly dockerHost: string;
  /**
   * Boot id of its kernel, where it was read: an output by which the policy pack tells that machines
   * of several components are one computer.
   */
  readonly bootId?: string | undefined;
  /**
   * Containers of servers that other machines have already declared, by name. One that needs some of
   * them starts after them, and is removed before them.
   */
  readonly declared?: ReadonlyMap<string, Container>;
  /** Awaited before the container of a server or bridge is touched. */
  readonly before?: BeforeContainer | undefined;
  /** What the program itself refuses, as `refusedMark` writes it; a preview shows it all the same. */
  readonly refused?: readonly string[] | undefined;
}

/**
 * Sorts machines into the order in which their resources are declared. Machines come first that
 * others need.
 */
export function neededFirst(machines: readonly MachinePlan[]): MachinePlan[] {
  const needing = ({ inferenceServers }: MachinePlan) =>
    inferenceServers.filter((server) => neededBy(server).length > 0).length;
  return [...machines].sort((a, b) => needing(a) - needing(b));
}

/**
 * Everything on one machine. If a policy refuses it, the update stops before any child is touched.
 */
export class Machine extends ComponentResource {
  /** Known once all of it is applied. */
  readonly applied: Output<string>;
  /** Containers of the servers on this machine, by name. */
  readonly servers: ReadonlyMap<string, Container>;

  constructor(
    { machine, dockerHost, bootId, declared = new Map(), before, refused }: MachineArgs,
    opts?: ComponentResourceOptions,
  ) {
    const { name, hostInstance } = machine;
    const facts = { ...machineFacts(machine), ...defined({ refused }) };
    super(TYPE.machine, name, facts, mergeOptions({ ...opts, ...HIDDEN }, commandsOn(machine)));
    if (hostInstance !== "none")
      new HostInstance(
        `${name}-instance-a`,
        { machine: name, ...hostInstanceFacts(hostInstance) },
        { parent: this },
      );
    const ssh = isOverSsh(machine) ? { sshOpts: SSH_OPTIONS } : {};
    const provider = new Provider(`${name}-docker`, { host: dockerHost, ...ssh }, { parent: this });
    const network = new Network(
      `${name}-network`,
      { name: machine.network, driver: "bridge" },
      { parent: this, provider },
    );
    const within: Within = { parent: this, providers: { docker: provider } };
    const servers = serversOf(
      machine,
      { needs: [network, ...startGate(machine, within)], declared, before },
      within,
    );
    const first = onDemandFirst(machine, within);
    const containers = [
      ...servers.made,
      ...servicesOf(machine, { network, onDemand: first, before }, within),
    ];
    const things = [
      ...containers,
      ...filesOf(machine, within),
      ...onDemandOf(machine, { after: containers, ...first }, within),
    ];
    // The applied plan is written last and removed first. If the file is there, everything in it
    // was applied.
    const applied = fileOf(machine, "applied-plan");
    const last =
      applied &&
      new HostFile(applied.resource, { file: applied }, { parent: this, dependsOn: things });
    this.applied = last?.written ?? this.urn;
    this.servers = servers.containers;
    this.registerOutputs(defined({ bootId }));
  }
}

/** A preview shows each change where it applies: in a container, a file, an output. */
const HIDDEN = { hideDiffs: ["*"] };

/** Options of everything below a machine. */
type Within = { readonly parent: Machine; readonly providers: { readonly docker: Provider } };

const fileOf = ({ files }: MachinePlan, role: FileRole) => files.find((file) => file.role === role);

/** What is there of llama-swap before the containers that ask it. */
interface OnDemandFirst {
  /** The network between it and them. */
  readonly network?: Network;
  readonly keyFile?: HostFile;
  readonly key?: Output<string>;
}

function onDemandFirst({ onDemand, ...machine }: MachinePlan, within: Within): OnDemandFirst {
  if (onDemand === undefined) return {};
  const { parent, providers } = within;
  const resource = onDemandResource(machine.name);
  const file = machine.secretFiles.find(({ partOf }) => partOf === resource);
  const written = file && secretFileArgs(file);
  const { name, subnet, gateway } = onDemand.network ?? {};
  return defined({
    network:
      name === undefined
        ? undefined
        : new Network(
            `${resource}-network`,
            { name, driver: "bridge", ipamConfigs: [{ ...defined({ subnet, gateway }) }] },
            // Two networks can't have one name.
            { parent, provider: providers.docker, deleteBeforeReplace: true },
          ),
    keyFile: file && written && new HostFile(file.resource, written, { parent }),
    key: written?.secretText,
  });
}

/** llama-swap, after every container of its machine. */
function onDemandOf(
  machine: MachinePlan,
  { after, keyFile, network, key }: OnDemandFirst & { readonly after: readonly Resource[] },
  { parent }: Within,
): Resource[] {
  const { onDemand: planned } = machine;
  if (planned === undefined) return [];
  const dependsOn = [...after, ...(keyFile ? [keyFile] : []), ...(network ? [network] : [])];
  const args = { machine, planned, ...defined({ key }) };
  return [new OnDemand(onDemandResource(machine.name), args, { parent, dependsOn })];
}

/** What the start gates of a machine's servers read and write. */
function startGate(machine: MachinePlan, { parent, providers }: Within): Resource[] {
  const { name, network } = machine;
  const gate = fileOf(machine, "start-gate");
  if (gate === undefined) return [];
  const volume = { name: gateVolume(network), driver: "local" };
  return [
    new HostFile(gate.resource, { file: gate }, { parent }),
    new Volume(`${name}-gate`, volume, { parent, provider: providers.docker }),
  ];
}

/** The servers of a machine, last those that answer there, and their containers by name. */
function serversOf(
  machine: MachinePlan,
  {
    needs,
    declared,
    before,
  }: Required<Pick<MachineArgs, "declared">> &
    Pick<MachineArgs, "before"> & { readonly needs: readonly Resource[] },
  within: Within,
): { readonly made: readonly Resource[]; readonly containers: ReadonlyMap<string, Container> } {
  const containers = new Map<string, Container>();
  const all = serversOn(machine);
  const inOrder = [...all.filter((each) => !answers(each)), ...all.filter(answers)];
  const made = inOrder.map((server) => {
    // Two machines may each need the other, so some may not be declared yet.
    const after = neededBy(server).flatMap(
      ({ container }) => containers.get(container) ?? declared.get(container) ?? [],
    );
    const args = { machine: machine.name, server, needs, after, before };
    const one = new InferenceServer(server.container.resource, args, within);
    containers.set(server.container.name, one.container);
    return one;
  });
  return { made, containers };
}

/** Ollama where it is systemd's, and the services that run in containers. */
function servicesOf(
  machine: MachinePlan,
  {
    network,
    onDemand,
    before,
  }: Pick<MachineArgs, "before"> & {
    readonly network: Network;
    readonly onDemand: OnDemandFirst;
  },
  within: Within,
): Resource[] {
  const { name, simpleServer: server, elevate } = machine;
  const { parent } = within;
  return [
    ...(server.mode === "host"
      ? [new SimpleServer(`${name}-simple-server`, { machine: name, server, elevate }, { parent })]
      : []),
    ...machine.services.flatMap((service) => {
      const run = serviceArgs(machine, service, before);
      return run === undefined
        ? []
        : new RunningService(
            service.resource,
            { ...run, network, onDemand: asksOnDemand(machine, run) ? onDemand : {} },
            within,
          );
    }),
  ];
}

/** Whether a container has the key of its machine's llama-swap, and asks it. */
const asksOnDemand = (
  { onDemand }: MachinePlan,
  { container }: Pick<RunningServiceArgs, "container">,
): boolean =>
  onDemand?.keyPath !== undefined &&
  container.mounts.some(({ source }) => source === onDemand.keyPath);

/** What is files alone: clients, the harness, monitoring. */
function filesOf({ name, clients, files }: MachinePlan, { parent }: Within): Resource[] {
  const made = [
    { resource: `${name}-harness-files`, Files: HarnessFiles },
    { resource: `${name}-monitoring`, Files: Monitoring },
  ].flatMap(({ resource, Files }) => {
    const own = files.filter(({ partOf }) => partOf === resource);
    return own.length === 0 ? [] : new Files(resource, name, own, { parent });
  });
  return [...clients.map((client) => new Client(name, client, { parent })), ...made];
}

/** What a service runs in a container of its own; `undefined` for one that has none. */
function serviceArgs(
  planned: MachinePlan,
  service: MachinePlan["services"][number],
  before: BeforeContainer | undefined,
): Omit<RunningServiceArgs, "network" | "onDemand"> | undefined {
  const { name: machine, containers, files, secretFiles } = planned;
  const { name, resource } = service;
  const container = containers.find((each) => each.resource === resource);
  const { component, readsOnce, forwards, data } = serviceNamed(name) ?? {};
  if (container === undefined || component === undefined) return undefined;
  const own = <File extends { readonly partOf: string }>(all: readonly File[]) =>
    all.filter(({ partOf }) => partOf === resource);
  return {
    machine,
    component,
    service,
    container,
    files: own(files),
    secretFiles: own(secretFiles),
    copies: dataCopiesOf(planned, service, data, LABEL.machine),
    // A container that forwards nothing loses no request.
    ...defined({ readsOnce, before: forwards && before }),
  };
}
