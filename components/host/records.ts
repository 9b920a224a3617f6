import { ComponentResource, type ComponentResourceOptions } from "@pulumi/pulumi";
import type { PlannedFile } from "../planned/file";
import type { TYPE } from "../planned/type";
import { HostFile } from "./hostFile";

interface RecordArgs {
  readonly type: (typeof TYPE)[keyof typeof TYPE];
  /** What policies and people read of it. */
  readonly facts: object;
  /** What it writes; nothing where it is data alone. */
  readonly files?: readonly PlannedFile[];
}

/**
 * Facts on record, with the files that they are about where there are some: a client's, the harness's. Without files it
 * touches nothing: instance A, so that its share can be counted, or the versions inside an image, joined to containers by its
 * digest, which are no label because a corrected record must not restart a server.
 */
export class FactsOnRecord extends ComponentResource {
  constructor(name: string, { type, facts, files = [] }: RecordArgs, opts?: ComponentResourceOptions) {
    super(type, name, { ...facts }, opts);
    for (const file of files) new HostFile(file.resource, { file }, { parent: this });
    this.registerOutputs({ ...facts });
  }
}
