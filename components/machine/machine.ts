import { Network, Provider } from "@pulumi/docker";
import { ComponentResource, type ComponentResourceOptions } from "@pulumi/pulumi";
import { Bridge } from "../bridge/bridge";
import { ChatUi } from "../chat-ui/chatUi";
import { Client } from "../clients/client";
import { HostInstance } from "../host/hostInstance";
import { InferenceServer } from "../inference-server/inferenceServer";
import type { MachinePlan } from "../plan/types";
import { SimpleServer } from "../simple-server/simpleServer";
import { machineFacts } from "./machineFacts";

export interface MachineArgs {
  readonly machine: MachinePlan;
  /** Docker engine to talk to; the machine's own, except in a preview where none answers. */
  readonly dockerHost: string;
}

/** Everything on one machine. What a policy refuses here is stopped before any child is touched. */
export class Machine extends ComponentResource {
  constructor({ machine, dockerHost }: MachineArgs, opts?: ComponentResourceOptions) {
    const { name } = machine;
    const facts = machineFacts(machine);
    super("local-serving:index:Machine", name, facts, opts);
    if (machine.hostInstance !== "none") {
      new HostInstance(`${name}-instance-a`, { machine: name, ...machine.hostInstance }, { parent: this });
    }
    const provider = new Provider(`${name}-docker`, { host: dockerHost }, { parent: this });
    const network = new Network(
      `${name}-network`,
      { name: machine.network, driver: "bridge" },
      { parent: this, provider },
    );
    const things: Resource[] = machine.inferenceServers.map(
      (server) =>
        new InferenceServer(
          server.container.resource,
          { machine: name, server, network },
          { parent: this, providers: { docker: provider } },
        ),
    );
    if (machine.simpleServer.mode === "host") {
      const { simpleServer: server, elevate } = machine;
      things.push(
        new SimpleServer(`${name}-simple-server`, { machine: name, server, elevate }, { parent: this }),
      );
    }
    const within = { parent: this, providers: { docker: provider } };
    if (machine.bridge !== null)
      new Bridge(
        machine.bridge.container.resource,
        { machine: name, bridge: machine.bridge, network },
        within,
      );
    if (machine.chatUi !== null)
      new ChatUi(
        machine.chatUi.container.resource,
        { machine: name, chatUi: machine.chatUi, network },
        within,
      );
    for (const client of machine.clients)
      new Client(client.resource, { machine: name, client }, { parent: this });
    this.registerOutputs(facts);
  }
}
