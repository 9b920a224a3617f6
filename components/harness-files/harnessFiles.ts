import { ComponentResource, type ComponentResourceOptions } from "@pulumi/pulumi";
import { HostFile } from "../host/hostFile";
import type { PlannedFile } from "../planned/file";
import { TYPE } from "../planned/type";

export interface HarnessFilesArgs {
  /** Machine that the files are written on. */
  readonly machine: string;
  readonly files: readonly PlannedFile[];
}

/** The harness's files in its own folder; what was there before comes back when they go. */
export class HarnessFiles extends ComponentResource {
  constructor(name: string, { machine, files }: HarnessFilesArgs, opts?: ComponentResourceOptions) {
    const facts = { machine, files: files.map(({ path }) => path) };
    super(TYPE.harnessFiles, name, facts, opts);
    for (const file of files) new HostFile(`${machine}-${file.role}`, { file }, { parent: this });
    this.registerOutputs(facts);
  }
}
