import { Volume } from "@pulumi/docker";
import { ComponentResource, type ComponentResourceOptions, type Resource } from "@pulumi/pulumi";
import { ContainerService } from "../host/containerService";
import { HostFile } from "../host/hostFile";
import { TYPE } from "../planned/type";
import type { MonitoringPlan } from "./plannedMonitoring";

export interface MonitoringArgs {
  /** Machine that it watches. */
  readonly machine: string;
  readonly monitoring: MonitoringPlan;
  /** Docker network that the containers join. */
  readonly network: Resource;
}

/** Prometheus, Grafana and the node exporter with their files, or only a file of scrape targets. */
export class Monitoring extends ComponentResource {
  constructor(name: string, { machine, monitoring, network }: MonitoringArgs, opts?: ComponentResourceOptions) {
    const { containers, dataVolume, files } = monitoring;
    const facts = { machine, containers: containers.map((each) => each.name) };
    super(TYPE.monitoring, name, facts, opts);
    const volume = { name: dataVolume, driver: "local" };
    const needs = [
      network,
      ...files.map((file) => new HostFile(`${machine}-${file.role}`, { file }, { parent: this })),
      ...(containers.length === 0 ? [] : [new Volume(`${name}-data`, volume, { parent: this, retainOnDelete: true })]),
    ];
    for (const container of containers)
      new ContainerService(container.resource, { container }, { parent: this, dependsOn: needs });
    this.registerOutputs(facts);
  }
}
