import { ComponentResource, type ComponentResourceOptions, type Resource } from "@pulumi/pulumi";
import { type BeforeContainer, ContainerService } from "../host/containerService";
import { HostFile, secretFileArgs } from "../host/hostFile";
import { TYPE } from "../planned/type";
import type { BridgePlan } from "./plannedBridge";

export interface BridgeArgs {
  /** Machine that the bridge runs on. */
  readonly machine: string;
  readonly bridge: BridgePlan;
  /** Docker network that the container joins. */
  readonly network: Resource;
  readonly before?: BeforeContainer | undefined;
}

/** The LiteLLM proxy with the file that it reads, and with its key where that is a real one. */
export class Bridge extends ComponentResource {
  constructor(name: string, { machine, bridge, network, before }: BridgeArgs, opts?: ComponentResourceOptions) {
    const facts = { machine, container: bridge.container.name, servers: bridge.servers };
    super(TYPE.bridge, name, facts, opts);
    const config = new HostFile(bridge.config.resource, { file: bridge.config }, { parent: this });
    const key = bridge.key === null ? undefined : secretFileArgs(bridge.key);
    const keyFile = key === undefined ? [] : [new HostFile(`${name}-key`, key, { parent: this })];
    new ContainerService(
      name,
      // LiteLLM reads its key once: another key is another container.
      { container: bridge.container, before, ...(key === undefined ? {} : { replaceWith: key.secretText }) },
      { parent: this, dependsOn: [network, config, ...keyFile] },
    );
    this.registerOutputs(facts);
  }
}
