import type { ComponentResourceOptions } from "@pulumi/pulumi";
import { FactsOnRecord } from "../../host";
import { type PlannedFile, TYPE } from "../../planned";

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
