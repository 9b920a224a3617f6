// The engine's own TypeScript is 3.8: it knows no `type` within braces.

import type { ComponentResourceOptions, Output } from "@pulumi/pulumi";
import { ComponentResource } from "@pulumi/pulumi";
import { Serving } from "./serving";

/** Machines that serve models, and where the program keeps files of its own. */
export interface LocalServingArgs {
  /** Machines by name: what stands under `machines` in a stack file of local-serving. */
  settings: { [key: string]: any };
  /**
   * Absolute path of the folder with `models/` and `policies/levels.json` of your own, such as
   * `${pulumi.cwd}` in YAML. Without it none are read.
   */
  baseDirectory?: string;
}

/**
 * Model servers, chat and coding clients on machines with unified memory. The settings are checked,
 * planned and judged as those of a stack file. If they are refused, an update ends before the
 * first resource of this component.
 */
export class LocalServing extends ComponentResource {
  /** URLs by machine, then by the keys of servers and services. */
  readonly endpoints: Output<{ [key: string]: any }>;
  /** How the memory of each machine adds up, in GiB. */
  readonly memory: Output<{ [key: string]: any }>;
  /** The command that starts each client, by machine. */
  readonly clients: Output<{ [key: string]: any }>;

  constructor(name: string, args: LocalServingArgs, opts?: ComponentResourceOptions) {
    const serving = new Serving(name, args, opts);
    super("local-serving:index:LocalServing", name, serving.inputs, serving.options);
    const { endpoints, memory, clients } = serving.outputsOf(serving.declareBelow(this));
    this.endpoints = endpoints;
    this.memory = memory;
    this.clients = clients;
    this.registerOutputs({ endpoints, memory, clients });
  }
}
