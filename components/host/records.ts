import { ComponentResource, type ComponentResourceOptions } from "@pulumi/pulumi";
import type { HostInstanceFacts, ImageFacts } from "../planned/facts";
import { TYPE } from "../planned/type";

/**
 * What is known of the versions inside an image, joined to containers by its digest. It is a resource of its own and
 * not a label, because a corrected record must not restart a server.
 */
export class ImageRecord extends ComponentResource {
  constructor(name: string, args: ImageFacts, opts?: ComponentResourceOptions) {
    super(TYPE.imageRecord, name, { ...args }, opts);
    this.registerOutputs({ ...args });
  }
}

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
