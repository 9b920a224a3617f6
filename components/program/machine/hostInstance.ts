import type { ComponentResourceOptions } from "@pulumi/pulumi";
import { FactsOnRecord } from "../../host";
import { TYPE } from "../../planned";
import type { HostInstanceRead } from "./machineFacts";

/**
 * Instance A, so that its share is counted. It is not ours: nothing of it is created, changed or
 * removed.
 */
export class HostInstance extends FactsOnRecord {
  constructor(
    name: string,
    facts: HostInstanceRead & { readonly machine: string },
    opts?: ComponentResourceOptions,
  ) {
    super(TYPE.hostInstance, name, { facts }, opts);
  }
}
