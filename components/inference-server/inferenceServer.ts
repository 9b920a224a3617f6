import { local } from "@pulumi/command";
import { type Container, Volume } from "@pulumi/docker";
import { ComponentResource, type ComponentResourceOptions, type Resource } from "@pulumi/pulumi";
import { type BeforeContainer, ContainerService, HostFile, secretFileArgs } from "../host";
import { TYPE } from "../planned";
import { ImageRecord } from "./imageRecord";
import { type InferenceServerPlan, imageRecordName, serverInputs } from "./plannedServer";

export interface InferenceServerArgs {
  /** Machine that the server runs on. */
  readonly machine: string;
  readonly server: InferenceServerPlan;
  /**
   * What must be there first: the Docker network that the container joins, and what its start gate
   * reads and writes.
   */
  readonly needs: readonly Resource[];
  /** The containers of a head's workers; empty for any other server. */
  readonly after: readonly Container[];
  readonly before?: BeforeContainer | undefined;
}

/**
 * A vLLM server in a container, with its model cache, the volume of compiled kernels and the record
 * of its image.
 */
export class InferenceServer extends ComponentResource {
  readonly container: Container;

  constructor(name: string, args: InferenceServerArgs, opts?: ComponentResourceOptions) {
    const { machine, server } = args;
    const inputs = serverInputs(machine, server);
    super(TYPE.inferenceServer, name, inputs, opts);
    new ImageRecord(imageRecordName(name), server.imageRecord, { parent: this });
    const cache = new local.Command(
      `${name}-model-cache`,
      {
        // The path travels in the environment, so that no text of a stack file is ever part of a
        // script. There is no `delete`: models are never removed.
        create: 'mkdir -p -- "$MODEL_CACHE"',
        environment: { MODEL_CACHE: server.modelCache },
        addPreviousOutputInEnv: false,
      },
      { parent: this },
    );
    const jit = new Volume(
      `${name}-jit`,
      { name: server.jitVolume, driver: "local" },
      { parent: this },
    );
    const needed: Resource[] = [...args.needs, cache, jit];
    if (server.tokenFile !== undefined)
      needed.push(
        new HostFile(server.tokenFile.resource, secretFileArgs(server.tokenFile), { parent: this }),
      );
    const { container } = server;
    const { after, before } = args;
    const service = new ContainerService(
      name,
      { container, after, before },
      { parent: this, dependsOn: needed },
    );
    this.container = service.container;
    this.registerOutputs();
  }
}
