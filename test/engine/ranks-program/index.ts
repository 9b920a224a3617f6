import type { Container } from "@pulumi/docker";
import { runtime } from "@pulumi/pulumi";
import { plan } from "../../../components/plan/plan";
import type { MachinePlan } from "../../../components/plan/types";
import type { PlannedContainer } from "../../../components/planned/container";
import { Machine, neededFirst } from "../../../components/program/machine/machine";
import { parseEngineConfig } from "../../../components/settings/load";

/**
 * The machines of a stack without what looks at the machine first: here is no link, and no RDMA
 * device.
 */
const { machines } = plan(parseEngineConfig(runtime.allConfig()), { home: process.env.HOME ?? "" });

const withDevice = (container: PlannedContainer) =>
  container.devices === undefined ? container : { ...container, devices: ["/dev/null"] };

const here = (machine: MachinePlan): MachinePlan => {
  const of = (servers: MachinePlan["ranks"]) =>
    servers.map((server) => ({ ...server, container: withDevice(server.container) }));
  return { ...machine, inferenceServers: of(machine.inferenceServers), ranks: of(machine.ranks) };
};

let declared: ReadonlyMap<string, Container> = new Map();
for (const machine of neededFirst(machines)) {
  const made = new Machine({ machine: here(machine), dockerHost: machine.dockerHost, declared });
  declared = new Map([...declared, ...made.servers]);
}
