import { type Container, Network, Provider, Volume } from "@pulumi/docker";
import {
  ComponentResource,
  type ComponentResourceOptions,
  mergeOptions,
  type Output,
  type Resource,
} from "@pulumi/pulumi";
import { defined } from "../../faults/defined";
import { isOverSsh } from "../../machines/address";
import { dataCopiesOf } from "../../machines/copies/dataCopies";
import { SSH_OPTIONS } from "../../machines/onMachine";
import { Client } from "../clients/client";
import { HarnessFiles } from "../harness-files/harnessFiles";
import { commandsOn } from "../host/commandsOn";
import type { BeforeContainer } from "../host/containerService";
import { HostFile } from "../host/hostFile";
import { InferenceServer } from "../inference-server/inferenceServer";
import type { InferenceServerPlan } from "../inference-server/plannedServer";
import { gateVolume } from "../inference-server/startGate";
import { Monitoring } from "../monitoring/monitoring";
import type { MachinePlan } from "../plan/types";
import { LABEL } from "../planned/container";
import type { FileRole } from "../planned/file";
import { TYPE } from "../planned/type";
import { RunningService, type RunningServiceArgs } from "../service/runningService";
import { serviceNamed } from "../services/registry";
import { SimpleServer } from "../simple-server/simpleServer";
import { HostInstance } from "./hostInstance";
import { machineFacts } from "./machineFacts";

export interface MachineArgs {
  readonly machine: MachinePlan;
  /** Docker engine to talk to. It is the machine's own, except in a preview where none answers. */
  readonly dockerHost: string;
  /**
   * Workers that are already declared, by container. A head starts after its workers, and is
   * removed before them.
   */
  readonly workers?: ReadonlyMap<string, Container>;
  /** Awaited before the container of a server or bridge is touched. */
  readonly before?: BeforeContainer | undefined;
}

/**
 * Sorts machines into the order in which their resources are declared. Machines come first whose
 * workers are awaited by heads on others.
 */
export function workersFirst(machines: readonly MachinePlan[]): MachinePlan[] {
  const heads = ({ inferenceServers }: MachinePlan) =>
    inferenceServers.filter(({ rank }) => rank !== undefined).length;
  return [...machines].sort((a, b) => heads(a) - heads(b));
}

/**
 * Everything on one machine. If a policy refuses it, the update stops before any child is touched.
 */
export class Machine extends ComponentResource {
  /** Known once all of it is applied. */
  readonly applied: Output<string>;
  /** Containers of ranks on this machine, by name. */
  readonly ranks: ReadonlyMap<string, Container>;

  constructor(
    { machine, dockerHost, workers = new Map(), before }: MachineArgs,
    opts?: ComponentResourceOptions,
  ) {
    const { name, hostInstance } = machine;
    const facts = machineFacts(machine);
    super(TYPE.machine, name, facts, mergeOptions(opts, commandsOn(machine)));
    if (hostInstance !== "none")
      new HostInstance(`${name}-instance-a`, { machine: name, ...hostInstance }, { parent: this });
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
      { needs: [network, ...startGate(machine, within)], workers, before },
      within,
    );
    const things = [
      ...servers.made,
      ...servicesOf(machine, { network, before }, within),
      ...filesOf(machine, within),
    ];
    // The applied plan is written last and removed first. If the file is there, everything in it
    // was applied.
    const applied = fileOf(machine, "applied-plan");
    const last =
      applied &&
      new HostFile(applied.resource, { file: applied }, { parent: this, dependsOn: things });
    this.applied = last?.written ?? this.urn;
    this.ranks = servers.ranks;
    this.registerOutputs(facts);
  }
}

/** Options of everything below a machine. */
type Within = { readonly parent: Machine; readonly providers: { readonly docker: Provider } };

const fileOf = ({ files }: MachinePlan, role: FileRole) => files.find((file) => file.role === role);

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

/**
 * The servers of a machine, workers of other machines' servers first, and the containers of ranks
 * by name.
 */
function serversOf(
  machine: MachinePlan,
  {
    needs,
    workers,
    before,
  }: Required<Pick<MachineArgs, "workers">> &
    Pick<MachineArgs, "before"> & { readonly needs: readonly Resource[] },
  within: Within,
): { readonly made: readonly Resource[]; readonly ranks: ReadonlyMap<string, Container> } {
  const ranks = new Map<string, Container>();
  const made = [...machine.ranks, ...machine.inferenceServers].map((server) => {
    const after = workersOf(server, new Map([...workers, ...ranks]));
    const args = { machine: machine.name, server, needs, after, before };
    const one = new InferenceServer(server.container.resource, args, within);
    if (server.rank !== undefined) ranks.set(server.container.name, one.container);
    return one;
  });
  return { made, ranks };
}

/** Ollama where it is systemd's, and the services that run in containers. */
function servicesOf(
  machine: MachinePlan,
  { network, before }: Pick<MachineArgs, "before"> & { readonly network: Network },
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
        : new RunningService(service.resource, { ...run, network }, within);
    }),
  ];
}

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
): Omit<RunningServiceArgs, "network"> | undefined {
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

/**
 * Returns the workers that a head waits for, as far as they are declared. Each of two machines may
 * be head of one server, so some may not be.
 */
function workersOf(
  { rank }: InferenceServerPlan,
  declared: ReadonlyMap<string, Container>,
): Container[] {
  const [, ...workers] = rank?.index === 0 ? rank.nodes : [];
  return workers.flatMap(({ container }) => declared.get(container) ?? []);
}
