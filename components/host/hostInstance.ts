import { ComponentResource, type ComponentResourceOptions } from "@pulumi/pulumi";
import type { HostInstanceFacts } from "../planned/hostInstance";
import { TYPE } from "../planned/type";

export interface HostInstanceArgs extends HostInstanceFacts {
  /** Machine that instance A runs on. */
  readonly machine: string;
}

/**
 * Instance A as data. It has no children and touches nothing: it puts A's share on record, so that policies and people
 * can count it. A changed record changes nothing on the machine.
 */
export class HostInstance extends ComponentResource {
  constructor(name: string, args: HostInstanceArgs, opts?: ComponentResourceOptions) {
    super(TYPE.hostInstance, name, args, opts);
    this.registerOutputs({ ...args });
  }
}
