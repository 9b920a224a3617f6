import type { ComponentResourceOptions } from "@pulumi/pulumi";
import { FactsOnRecord } from "../../host";
import { type PlannedFile, TYPE } from "../../planned";

/** The automation harness's files, made from the plan of its machine. */
export class HarnessFiles extends FactsOnRecord {
  constructor(
    name: string,
    machine: string,
    files: readonly PlannedFile[],
    opts?: ComponentResourceOptions,
  ) {
    super(
      TYPE.harnessFiles,
      name,
      { facts: { machine, files: files.map(({ path }) => path) }, files },
      opts,
    );
  }
}
