import type { DataOf } from "@local-serving/base/data/dataOf";
import type { Warning } from "../planned";
import type { machineSchema } from "../planned/schema";

/** What one machine will run. */
export type MachinePlan = DataOf<typeof machineSchema>;

/**
 * The plan: everything that will run and be written, as plain data. The same settings and evidence
 * give the same plan.
 */
export type Plan = {
  readonly machines: readonly MachinePlan[];
  readonly warnings: readonly Warning[];
};

/**
 * The word by which commands know a container of a machine: its server's key or its service's name.
 * A worker has only its container's name, as its key is its head's.
 */
export const wordFor = (
  { inferenceServers, services }: Pick<MachinePlan, "inferenceServers" | "services">,
  container: string,
): string =>
  inferenceServers.find((each) => each.container.name === container)?.key ??
  services.find((each) => each.own && each.container === container)?.name ??
  container;
