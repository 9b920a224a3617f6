import { ComponentResource, type ComponentResourceOptions } from "@pulumi/pulumi";
import type { PlannedFile } from "../planned";
import { HostFile } from "./hostFile";

/**
 * Facts on record, with the files that they are about where there are some. Without files it
 * touches nothing.
 */
export abstract class FactsOnRecord extends ComponentResource {
  constructor(
    type: string,
    name: string,
    { facts, files = [] }: { readonly facts: object; readonly files?: readonly PlannedFile[] },
    opts?: ComponentResourceOptions,
  ) {
    super(type, name, { ...facts }, opts);
    for (const file of files) new HostFile(file.resource, { file }, { parent: this });
    this.registerOutputs();
  }
}
