import { ComponentResource, type ComponentResourceOptions } from "@pulumi/pulumi";
import { HostFile } from "../host/hostFile";
import { TYPE } from "../planned/type";
import type { ClientPlan } from "./plannedClients";

export type ClientArgs = { readonly machine: string; readonly client: ClientPlan };

/** A client program's configuration and its launcher. */
export class Client extends ComponentResource {
  constructor(name: string, { machine, client }: ClientArgs, opts?: ComponentResourceOptions) {
    const facts = { machine, client: client.client, server: client.server, via: client.via, command: client.command };
    super(TYPE.client, name, facts, opts);
    for (const file of client.files) new HostFile(`${machine}-${file.role}`, { file }, { parent: this });
    this.registerOutputs(facts);
  }
}
