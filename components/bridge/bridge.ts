import { ComponentResource, type ComponentResourceOptions, type Resource } from "@pulumi/pulumi";
import { ContainerService } from "../host/containerService";
import { HostFile } from "../host/hostFile";
import { secretFromShell } from "../host/secretFromShell";
import type { BridgePlan } from "../plan/types";

export interface BridgeArgs {
  /** Machine that the bridge runs on. */
  readonly machine: string;
  readonly bridge: BridgePlan;
  /** Docker network that the container joins. */
  readonly network: Resource;
}

/** The LiteLLM proxy with the file that it reads, and with its key where that is a real one. */
export class Bridge extends ComponentResource {
  constructor(name: string, { machine, bridge, network }: BridgeArgs, opts?: ComponentResourceOptions) {
    const facts = { machine, container: bridge.container.name, servers: bridge.servers };
    super("local-serving:index:Bridge", name, facts, opts);
    const config = new HostFile(`${name}-config`, { file: bridge.config }, { parent: this });
    const key = bridge.key === null ? undefined : secretFromShell(bridge.key.variable, "the bridge's key");
    const keyFile =
      bridge.key === null || key === undefined
        ? []
        : [new HostFile(`${name}-key`, { file: bridge.key.file, secretText: key }, { parent: this })];
    new ContainerService(
      name,
      { container: bridge.container, ...(key === undefined ? {} : { replaceWith: key }) },
      { parent: this, dependsOn: [network, config, ...keyFile] },
    );
    this.registerOutputs(facts);
  }
}
