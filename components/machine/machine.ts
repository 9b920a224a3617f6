import { type Container, Network, Provider, Volume } from "@pulumi/docker";
import {
  ComponentResource,
  type ComponentResourceOptions,
  mergeOptions,
  type Output,
  type Resource,
} from "@pulumi/pulumi";
import { defined } from "../../faults/defined";
import type { BeforeContainer } from "../host/containerService";
import { HostFile } from "../host/hostFile";
import { commandsOn, SSH_OPTIONS } from "../host/onMachine";
import { FactsOnRecord } from "../host/records";
import { InferenceServer } from "../inference-server/inferenceServer";
import type { InferenceServerPlan } from "../inference-server/plannedServer";
import { gateVolume } from "../inference-server/startGate";
import type { MachinePlan } from "../plan/types";
import type { FileRole } from "../planned/file";
import { isOverSsh } from "../planned/reach";
import { TYPE } from "../planned/type";
import { RunningService, type RunningServiceArgs } from "../service/runningService";
import { serviceNamed } from "../services/registry";
import { SimpleServer } from "../simple-server/simpleServer";
import { machineFacts } from "./machineFacts";

export interface MachineArgs {
  readonly machine: MachinePlan;
  /** Docker engine to talk to; the machine's own, except in a preview where none answers. */
  readonly dockerHost: string;
  /** Ranks of all machines so far, by container; each machine adds its own. A head starts after them, and goes before. */
  readonly workers?: Map<string, Container>;
  /** Awaited before the container of a server or bridge is touched. */
  readonly before?: BeforeContainer | undefined;
}

/** Machines in the order in which their resources are declared: first those whose workers the others' heads wait for. */
export function workersFirst(machines: readonly MachinePlan[]): MachinePlan[] {
  const heads = ({ inferenceServers }: MachinePlan) => inferenceServers.filter(({ rank }) => rank !== undefined).length;
  return [...machines].sort((a, b) => heads(a) - heads(b));
}

/** Everything on one machine. What a policy refuses here is stopped before any child is touched. */
export class Machine extends ComponentResource {
  /** Known once all of it is applied. */
  readonly applied: Output<string>;

  constructor({ machine, dockerHost, workers = new Map(), before }: MachineArgs, opts?: ComponentResourceOptions) {
    const { name } = machine;
    const facts = machineFacts(machine);
    super(TYPE.machine, name, facts, mergeOptions(opts, commandsOn(machine)));
    if (machine.hostInstance !== "none") {
      const facts = { machine: name, ...machine.hostInstance };
      new FactsOnRecord(`${name}-instance-a`, { type: TYPE.hostInstance, facts }, { parent: this });
    }
    const ssh = isOverSsh(machine) ? { sshOpts: SSH_OPTIONS } : {};
    const provider = new Provider(`${name}-docker`, { host: dockerHost, ...ssh }, { parent: this });
    const network = new Network(
      `${name}-network`,
      { name: machine.network, driver: "bridge" },
      { parent: this, provider },
    );
    const planned = (role: FileRole) => machine.files.find((file) => file.role === role);
    const gate = planned("start-gate");
    const gateNeeds: Resource[] =
      gate === undefined
        ? []
        : [
            new HostFile(gate.resource, { file: gate }, { parent: this }),
            new Volume(
              `${name}-gate`,
              { name: gateVolume(machine.network), driver: "local" },
              { parent: this, provider },
            ),
          ];
    const serverOf = (server: InferenceServerPlan) => {
      const made = new InferenceServer(
        server.container.resource,
        { machine: name, server, needs: [network, ...gateNeeds], after: workersOf(server, workers), before },
        { parent: this, providers: { docker: provider } },
      );
      if (server.rank !== undefined) workers.set(server.container.name, made.container);
      return made;
    };
    const things: Resource[] = [...machine.ranks, ...machine.inferenceServers].map(serverOf);
    if (machine.simpleServer.mode === "host") {
      const { simpleServer: server, elevate } = machine;
      things.push(new SimpleServer(`${name}-simple-server`, { machine: name, server, elevate }, { parent: this }));
    }
    const within = { parent: this, providers: { docker: provider } };
    for (const service of machine.services) {
      const run = serviceArgs(machine, service, before);
      if (run !== undefined) things.push(new RunningService(service.resource, { ...run, network }, within));
    }
    for (const { resource, client, server, via, command, files } of machine.clients) {
      const facts = { machine: name, client, server, via, command };
      things.push(new FactsOnRecord(resource, { type: TYPE.client, facts, files }, { parent: this }));
    }
    for (const { resource, type } of [
      { resource: `${name}-harness-files`, type: TYPE.harnessFiles },
      { resource: `${name}-monitoring`, type: TYPE.monitoring },
    ]) {
      const files = machine.files.filter(({ partOf }) => partOf === resource);
      const facts = { machine: name, files: files.map(({ path }) => path) };
      if (files.length > 0) things.push(new FactsOnRecord(resource, { type, facts, files }, { parent: this }));
    }
    // The last to be written, and so the first to go: where it lies, everything in it was applied.
    const applied = planned("applied-plan");
    const last = applied && new HostFile(applied.resource, { file: applied }, { parent: this, dependsOn: things });
    this.applied = last?.written ?? this.urn;
    this.registerOutputs(facts);
  }
}

/** What a service runs in a container of its own; `undefined` for one that has none. */
function serviceArgs(
  { name: machine, containers, files, secretFiles }: MachinePlan,
  service: MachinePlan["services"][number],
  before: BeforeContainer | undefined,
): Omit<RunningServiceArgs, "network"> | undefined {
  const { name, resource } = service;
  const container = containers.find((each) => each.resource === resource);
  const { component, readsOnce, forwards } = serviceNamed(name) ?? {};
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
    // No request is lost with a container that sends none on.
    ...defined({ readsOnce, before: forwards && before }),
  };
}

/** The workers that a head waits for, as far as they are declared: two machines may be head of one server each. */
function workersOf({ rank }: InferenceServerPlan, declared: ReadonlyMap<string, Container>): Container[] {
  const [, ...workers] = rank?.index === 0 ? rank.nodes : [];
  return workers.flatMap(({ container }) => declared.get(container) ?? []);
}
