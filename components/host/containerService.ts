import { Container, RemoteImage } from "@pulumi/docker";
import {
  ComponentResource,
  type ComponentResourceOptions,
  type CustomResourceOptions,
  type Input,
  mergeOptions,
  type Resource,
} from "@pulumi/pulumi";
import { type PlannedContainer, TYPE } from "../planned";
import { containerArgs } from "./containerArgs";

/** Pulling an image of 20 GB over a slow line takes hours, not the provider's 20 minutes. */
const PULL_TIMEOUT = "3h";

/**
 * Arguments whose change a preview announces as an update, though a living container can't take it.
 * The provider's update handles none of them; `mounts` were seen to be announced so with provider
 * 5.1.0.
 */
const SILENT_UPDATES = ["cpuPeriod", "cpuQuota", "healthcheck", "init", "mounts", "rm", "tmpfs"];

export interface ContainerServiceArgs {
  readonly container: PlannedContainer;
  /**
   * The container is replaced when this changes: a file that it reads only once, and whose content
   * is a secret.
   */
  readonly replaceWith?: Input<string>;
  /** Containers this one depends on. It is replaced whenever one of them is, and removed first. */
  readonly after?: readonly Container[];
  /** A network of its own that the container joins: one that is made anew takes it along. */
  readonly joins?: Resource;
  /** Awaited once the image is here, just before the container is touched. */
  readonly before?: BeforeContainer | undefined;
  /** Makes what comes between the image and the container; its options name both ends. */
  readonly between?: ((opts: CustomResourceOptions) => Resource) | undefined;
}

/** Awaited before a container is made or replaced, by its name. */
export type BeforeContainer = (container: string) => Promise<void>;

/** One container and its image: the only maker of containers in this project. */
export class ContainerService extends ComponentResource {
  readonly container: Container;

  constructor(name: string, args: ContainerServiceArgs, opts?: ComponentResourceOptions) {
    super(TYPE.containerService, name, {}, opts);
    const { container, after = [], joins, before, between } = args;
    const needs = [...after, ...(joins === undefined ? [] : [joins])];
    const image = new RemoteImage(
      `${name}-image`,
      { name: container.image, keepLocally: true },
      // Pulled before the running container is touched, kept afterwards: going back needs no
      // download.
      { parent: this, customTimeouts: { create: PULL_TIMEOUT, update: PULL_TIMEOUT } },
    );
    const made = [image, ...(between ? [between({ parent: this, dependsOn: [image] })] : [])];
    const ready =
      before === undefined ? made : image.id.apply(() => before(container.name).then(() => made));
    this.container = new Container(
      name,
      containerArgs(container),
      mergeOptions(
        { parent: this, dependsOn: ready },
        {
          dependsOn: [...needs],
          // The name and the port are taken while the old container lives.
          deleteBeforeReplace: true,
          replaceOnChanges: SILENT_UPDATES,
          replaceWith: [...needs],
          ...(args.replaceWith === undefined ? {} : { replacementTrigger: args.replaceWith }),
        },
      ),
    );
    this.registerOutputs();
  }
}
