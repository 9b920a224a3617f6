import type { ComponentResourceOptions } from "@pulumi/pulumi";
import { FactsOnRecord } from "../host/records";
import type { PlannedFile } from "../planned/file";
import { TYPE } from "../planned/type";

/** What a Prometheus and a Grafana of the operator's read. */
export class Monitoring extends FactsOnRecord {
  constructor(
    name: string,
    machine: string,
    files: readonly PlannedFile[],
    opts?: ComponentResourceOptions,
  ) {
    super(
      TYPE.monitoring,
      name,
      { facts: { machine, files: files.map(({ path }) => path) }, files },
      opts,
    );
  }
}
