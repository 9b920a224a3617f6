import { ComponentResource, type ComponentResourceOptions, type Output } from "@pulumi/pulumi";
import type { PlannedFile } from "../plan/types";

export interface HostFileArgs {
  readonly file: PlannedFile;
  readonly secretText?: Output<string>;
}

/** One file on the machine. */
export class HostFile extends ComponentResource {
  constructor(name: string, args: HostFileArgs, opts?: ComponentResourceOptions) {
    super("local-serving:index:HostFile", name, {}, opts);
    this.registerOutputs({ path: args.file.path });
  }
}
