import { Volume } from "@pulumi/docker";
import { ComponentResource, type ComponentResourceOptions, type Resource } from "@pulumi/pulumi";
import { ContainerService } from "../host/containerService";
import { HostFile, secretFileArgs } from "../host/hostFile";
import { TYPE } from "../planned/type";
import type { ChatUiPlan } from "./plannedChatUi";

export interface ChatUiArgs {
  /** Machine that the chat UI runs on. */
  readonly machine: string;
  readonly chatUi: ChatUiPlan;
  /** Docker network that the container joins. */
  readonly network: Resource;
}

/** Open WebUI with the volume of its accounts and chats, which stays when the stack goes. */
export class ChatUi extends ComponentResource {
  constructor(name: string, { machine, chatUi, network }: ChatUiArgs, opts?: ComponentResourceOptions) {
    const facts = { machine, container: chatUi.container.name, servers: chatUi.servers };
    super(TYPE.chatUi, name, facts, opts);
    const volumes = [
      { part: "data", volume: chatUi.dataVolume },
      ...(chatUi.modelsVolume === null ? [] : [{ part: "models", volume: chatUi.modelsVolume }]),
    ].map(
      ({ part, volume }) =>
        new Volume(`${name}-${part}`, { name: volume, driver: "local" }, { parent: this, retainOnDelete: true }),
    );
    const secrets = chatUi.administrator.map(
      (file) => new HostFile(file.resource, secretFileArgs(file), { parent: this }),
    );
    const dependsOn = [network, ...volumes, ...secrets];
    new ContainerService(name, { container: chatUi.container }, { parent: this, dependsOn });
    this.registerOutputs(facts);
  }
}
