import { Network, Provider, Volume } from "@pulumi/docker";
import {
  ComponentResource,
  type ComponentResourceOptions,
  mergeOptions,
  type Output,
  type Resource,
} from "@pulumi/pulumi";
import { Bridge } from "../bridge/bridge";
import { ChatUi } from "../chat-ui/chatUi";
import { Client } from "../clients/client";
import { HarnessFiles } from "../harness-files/harnessFiles";
import { HostFile } from "../host/hostFile";
import { commandsOn, SSH_OPTIONS } from "../host/onMachine";
import { HostInstance } from "../host/records";
import { InferenceServer } from "../inference-server/inferenceServer";
import { gateVolume } from "../inference-server/startGate";
import type { MachinePlan } from "../plan/types";
import type { FileRole } from "../planned/file";
import { isOverSsh } from "../planned/reach";
import { TYPE } from "../planned/type";
import { SimpleServer } from "../simple-server/simpleServer";
import { machineFacts } from "./machineFacts";

export interface MachineArgs {
  readonly machine: MachinePlan;
  /** Docker engine to talk to; the machine's own, except in a preview where none answers. */
  readonly dockerHost: string;
}

/** Everything on one machine. What a policy refuses here is stopped before any child is touched. */
export class Machine extends ComponentResource {
  /** Known once all of it is applied. */
  readonly applied: Output<string>;

  constructor({ machine, dockerHost }: MachineArgs, opts?: ComponentResourceOptions) {
    const { name } = machine;
    const facts = machineFacts(machine);
    super(TYPE.machine, name, facts, mergeOptions(opts, commandsOn(machine)));
    if (machine.hostInstance !== "none") {
      new HostInstance(`${name}-instance-a`, { machine: name, ...machine.hostInstance }, { parent: this });
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
            new HostFile(`${name}-start-gate`, { file: gate }, { parent: this }),
            new Volume(
              `${name}-gate`,
              { name: gateVolume(machine.network), driver: "local" },
              { parent: this, provider },
            ),
          ];
    const things: Resource[] = machine.inferenceServers.map(
      (server) =>
        new InferenceServer(
          server.container.resource,
          { machine: name, server, needs: [network, ...gateNeeds] },
          { parent: this, providers: { docker: provider } },
        ),
    );
    if (machine.simpleServer.mode === "host") {
      const { simpleServer: server, elevate } = machine;
      things.push(new SimpleServer(`${name}-simple-server`, { machine: name, server, elevate }, { parent: this }));
    }
    const within = { parent: this, providers: { docker: provider } };
    const { bridge, chatUi, clients } = machine;
    if (bridge !== null) things.push(new Bridge(bridge.container.resource, { machine: name, bridge, network }, within));
    if (chatUi !== null) things.push(new ChatUi(chatUi.container.resource, { machine: name, chatUi, network }, within));
    for (const client of clients) things.push(new Client(client.resource, { machine: name, client }, { parent: this }));
    const harness = machine.files.filter((file) => file.role.startsWith("harness-"));
    if (harness.length > 0) {
      things.push(new HarnessFiles(`${name}-harness-files`, { machine: name, files: harness }, { parent: this }));
    }
    // The last to be written, and so the first to go: where it lies, everything in it was applied.
    const applied = planned("applied-plan");
    const last =
      applied && new HostFile(`${name}-applied-plan`, { file: applied }, { parent: this, dependsOn: things });
    this.applied = last?.written ?? this.urn;
    this.registerOutputs(facts);
  }
}
