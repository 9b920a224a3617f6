import type { ComponentResourceOptions } from "@pulumi/pulumi";
import { FactsOnRecord } from "../host";
import { TYPE } from "../planned";
import type { ClientPlan } from "./plannedClients";

/** One client program: its configuration and its launcher. */
export class Client extends FactsOnRecord {
  constructor(machine: string, plan: ClientPlan, opts?: ComponentResourceOptions) {
    const { resource, client, server, via, command, files } = plan;
    super(TYPE.client, resource, { facts: { machine, client, server, via, command }, files }, opts);
  }
}
