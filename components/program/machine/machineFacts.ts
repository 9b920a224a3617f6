import { defined } from "@local-serving/base/faults/defined";
import { containerArgs } from "../../host";
import type { MachinePlan } from "../../plan";
import { type HostInstanceFacts, serversOn } from "../../planned";
import type { SimpleServerPlan } from "../../services/simple-server";

/**
 * Inputs of the `Machine` component: what policies read to judge the whole machine before any of it
 * is touched, and no more. Servers are given as their container arguments, so that policies judge
 * the real argv and not a summary of ours.
 */
export function machineFacts(machine: MachinePlan) {
  return {
    machine: machine.name,
    totalGiB: machine.ledger.totalGiB,
    ...defined({ otherGpuMemoryGiB: machine.otherGpuMemoryGiB, gpus: machine.gpus }),
    hostInstance:
      machine.hostInstance === "none" ? "none" : hostInstanceFacts(machine.hostInstance),
    simpleServer: simpleServerFacts(machine.simpleServer),
    memory: {
      lines: machine.ledger.lines.map(({ name, gib, basis }) => ({ name, gib, basis })),
      largestUtilization: machine.ledger.largestUtilization,
      starts: machine.starts,
      ...defined({
        fixedKvCache: machine.ledger.fixedKvCache,
        together: machine.together && togetherFacts(machine.together),
      }),
    },
    servers: serversOn(machine).map(({ key, container }) => {
      const args = containerArgs(container);
      return {
        name: args.name,
        key,
        image: args.image,
        // The gate's own script is the container's to show.
        entrypoints: container.gate?.starts ?? args.entrypoints ?? [],
        command: args.command,
        ...defined({ start: container.start }),
      };
    }),
    bridge: machine.bridge && {
      models: machine.bridge.models.map(({ name, model }) => ({ name, model })),
    },
    clients: machine.clients.map(
      ({ client, coding, server, serverKind, via, baseUrl, tiers, names }) => ({
        client,
        coding,
        server,
        serverKind,
        via,
        baseUrl,
        tiers,
        names,
      }),
    ),
  };
}

/** Which servers run together, by their containers. */
function togetherFacts({ beside, servers, sets }: NonNullable<MachinePlan["together"]>) {
  const containers = new Map(servers.map(({ key, container }) => [key, container]));
  return {
    beside,
    servers: servers.map(({ container, certainGiB, utilization, adaptersGiB }) => ({
      name: container,
      certainGiB,
      utilization,
      ...defined({ adaptersGiB }),
    })),
    sets: sets.map((set) => set.map((key) => containers.get(key) ?? key)),
  };
}

/**
 * Where the simple server is: a machine has it on the host or in the chat UI's container, never
 * both.
 */
function simpleServerFacts(server: SimpleServerPlan) {
  if (server.mode !== "host") return { mode: server.mode };
  const { mode, listen, port, toolCalls } = server;
  return { mode, listen, port, ...defined({ toolCalls }) };
}

/** What policies read of instance A. */
export type HostInstanceRead = Pick<
  HostInstanceFacts,
  "port" | "gpuMemoryUtilization" | "keyVariable" | "toolParser"
>;

export const hostInstanceFacts = ({
  port,
  gpuMemoryUtilization,
  keyVariable,
  toolParser,
}: HostInstanceFacts): HostInstanceRead => ({
  port,
  gpuMemoryUtilization,
  ...defined({ keyVariable, toolParser }),
});
