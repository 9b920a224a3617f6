import type { DataOf } from "@local-serving/base/data/dataOf";
import { defined } from "@local-serving/base/faults/defined";
import type { DataCopies } from "@local-serving/machines/copies/dataCopies";
import { Volume } from "@pulumi/docker";
import {
  all,
  ComponentResource,
  type ComponentResourceOptions,
  type CustomResourceOptions,
  type Output,
  type Resource,
} from "@pulumi/pulumi";
import {
  type BeforeContainer,
  ContainerService,
  dataCopy,
  HostFile,
  secretFileArgs,
} from "../../host";
import type { PlannedContainer, PlannedFile, SecretFile } from "../../planned";
import type { serviceSchema } from "../../planned/schema";

/** What a service runs, by the plan. */
export interface RunningServiceArgs {
  /** Machine that it runs on. */
  readonly machine: string;
  /** Type token of its component. */
  readonly component: string;
  readonly service: Pick<DataOf<typeof serviceSchema>, "servers" | "volumes">;
  readonly container: PlannedContainer;
  /** Files and secrets that are there before its container. */
  readonly files: readonly PlannedFile[];
  readonly secretFiles: readonly SecretFile[];
  /** Its container is replaced when the value of one of its secrets changes. */
  readonly readsOnce?: boolean;
  /** Docker network that the container joins. */
  readonly network: Resource;
  /** llama-swap's network and key, where the container asks it. */
  readonly onDemand: {
    readonly network?: Resource;
    readonly keyFile?: Resource;
    readonly key?: Output<string>;
  };
  readonly before?: BeforeContainer | undefined;
  /** Its data, which are copied before another image takes them. */
  readonly copies?: DataCopies | undefined;
}

/**
 * The container of a service with the files that it reads and the volumes of its data, which stay
 * when the stack goes.
 */
export class RunningService extends ComponentResource {
  constructor(name: string, args: RunningServiceArgs, opts?: ComponentResourceOptions) {
    const { machine, component, service, container, network, onDemand, before, copies } = args;
    const facts = { machine, container: container.name, servers: service.servers };
    super(component, name, facts, opts);
    const volumes = service.volumes.map(
      ({ part, name: volume }) =>
        new Volume(
          `${name}-${part}`,
          { name: volume, driver: "local" },
          { parent: this, retainOnDelete: true },
        ),
    );
    const files = args.files.map((file) => new HostFile(file.resource, { file }, { parent: this }));
    const secrets = args.secretFiles.map((file) => ({ file, written: secretFileArgs(file) }));
    const secretFiles = secrets.map(
      ({ file, written }) => new HostFile(file.resource, written, { parent: this }),
    );
    const values = [
      ...(args.readsOnce ? secrets.map(({ written }) => written.secretText) : []),
      // Its entrypoint reads it once.
      ...(onDemand.key === undefined ? [] : [onDemand.key]),
    ];
    const { network: asks, keyFile } = onDemand;
    const [replaceWith = undefined] =
      values.length > 1 ? [all(values).apply((texts) => texts.join("\n"))] : values;
    const between = copies && ((given: CustomResourceOptions) => dataCopy(name, copies, given));
    new ContainerService(
      name,
      { container, before, between, ...defined({ replaceWith, joins: asks }) },
      {
        parent: this,
        dependsOn: [
          network,
          ...volumes,
          ...files,
          ...secretFiles,
          ...(keyFile === undefined ? [] : [keyFile]),
        ],
      },
    );
    this.registerOutputs();
  }
}
