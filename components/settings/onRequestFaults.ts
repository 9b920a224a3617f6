import { objectOr } from "@local-serving/base/faults/json";
import { listOf } from "@local-serving/base/faults/quoting";
import { EVERY_ADDRESS, hostOnNetwork, isLoopback } from "@local-serving/machines/address";
import { overlap, subnetOf } from "@local-serving/machines/subnet";
import { SERVICES } from "../services";
import { askingContainers, onRequestKeys } from "../services/on-demand";
import type { MachineSettings } from "./machine";
import type { MachineFault } from "./referenceFaults";

/** Servers of one machine that may start on request: every set of them is looked at. */
const MOST_ON_REQUEST = 12;

/** Faults of servers with `start: onRequest`; the path starts below the machine. */
export function onRequestFaults(machine: MachineSettings): MachineFault[] {
  const { inferenceServers } = machine;
  const onRequest = onRequestKeys(machine);
  const fault = (key: string, message: string): MachineFault => ({
    path: ["inferenceServers", key, "start"],
    code: "impossible_value",
    message,
  });
  return [
    ...onRequest.flatMap((key) =>
      inferenceServers[key]?.nodes === undefined
        ? []
        : fault(
            key,
            "A server over several machines can't start on request, since each of them would have to make room for it: delete this line, or `nodes`.",
          ),
    ),
    ...onRequest
      .slice(MOST_ON_REQUEST)
      .map((key) =>
        fault(
          key,
          `At most ${MOST_ON_REQUEST} servers of a machine can start on request, and there are ${onRequest.length}: leave some out, or write \`start: always\`.`,
        ),
      ),
    ...idleFaults(machine),
    ...onDemandFaults(machine, onRequest),
    ...subnetFaults(machine),
  ];
}

/** Idle minutes that nobody would count. */
function idleFaults({ inferenceServers, onDemand }: MachineSettings): MachineFault[] {
  return Object.entries(inferenceServers).flatMap(([key, { idleMinutes, start }]) => {
    if (idleMinutes === undefined) return [];
    const path = ["inferenceServers", key, "idleMinutes"];
    const fault = (message: string) => [{ path, code: "impossible_value", message }];
    if (start === "always")
      return fault(
        `${key} always runs, so it is never stopped for being idle: delete this line, or write \`start: onRequest\`.`,
      );
    if (onDemand === undefined)
      return fault(
        "Only llama-swap counts minutes without a request: declare `onDemand` on the machine (guide: models on demand), or delete this line.",
      );
    return [];
  });
}

/** What doesn't go together with llama-swap. */
function onDemandFaults(machine: MachineSettings, onRequest: readonly string[]): MachineFault[] {
  const { inferenceServers, onDemand } = machine;
  if (onDemand === undefined) return [];
  const faults: MachineFault[] = [];
  if (onRequest.length === 0)
    faults.push({
      path: ["onDemand"],
      code: "impossible_value",
      message:
        "No server starts on request, so llama-swap has nothing to start: write `start: onRequest` below a server, or delete `onDemand`.",
    });
  for (const key of onRequest) {
    const { listen = "127.0.0.1", port } = inferenceServers[key] ?? {};
    if (isLoopback(listen)) continue;
    const message = `${key} starts on request through llama-swap, which doesn't see requests at port ${port} and could stop the server during one: write \`listen: 127.0.0.1\`, or delete this line.`;
    faults.push({
      path: ["inferenceServers", key, "listen"],
      code: "impossible_value",
      message,
    });
  }
  const asking = askingContainers(machine).map((service) => `\`${service}\``);
  if (asking.length > 0 && onDemand.keyVariable === undefined)
    faults.push({
      path: ["onDemand", "keyVariable"],
      code: "missing_key",
      message: `${listOf(asking)} ${asking.length === 1 ? "is a container and asks" : "are containers and ask"} a server that starts on request, so llama-swap listens on a Docker network, where it needs a key: write \`keyVariable: LOCAL_SERVING_ON_DEMAND_KEY\`, the NAME of a variable of your shell that holds one.`,
    });
  return faults;
}

/** A subnet that holds an address of the machine itself: Docker would send its own network's traffic there. */
function subnetFaults(machine: MachineSettings): MachineFault[] {
  const { subnet } = machine.onDemand ?? {};
  const own = subnet === undefined ? undefined : subnetOf(subnet);
  if (own === undefined) return [];
  return addressesOf(machine)
    .filter(([, address]) => {
      const single = subnetOf(`${address}/32`);
      return single !== undefined && overlap(single, own);
    })
    .slice(0, 1)
    .map(([setting, address]) => ({
      path: ["onDemand", "subnet"],
      code: "impossible_value",
      message: `${subnet} holds ${address} (\`${setting}\`), so it is the network that the machine itself is in: write another private one, such as 10.213.7.0/28.`,
    }));
}

/** The addresses of a machine that its settings name, with the setting. */
function addressesOf(machine: MachineSettings): (readonly [setting: string, address: string])[] {
  const { instanceA, inferenceServers, link, clients, dockerHost } = machine;
  const listening: (readonly [string, unknown])[] = [
    ["instanceA", instanceA],
    ...SERVICES.map(({ key }) => [key, machine[key]] as const),
    ...Object.entries(inferenceServers).map(
      ([key, server]) => [`inferenceServers.${key}`, server] as const,
    ),
  ];
  const host = hostOnNetwork({ dockerHost }, undefined);
  return [
    ...(link === undefined ? [] : [["link.address", link.address] as const]),
    ...(clients.host === undefined ? [] : [["clients.host", clients.host] as const]),
    ...(host === undefined ? [] : [["dockerHost", host] as const]),
    ...listening.flatMap(([key, block]) => {
      const { listen } = objectOr(block);
      return typeof listen === "string" && listen !== EVERY_ADDRESS && !isLoopback(listen)
        ? [[`${key}.listen`, listen] as const]
        : [];
    }),
  ];
}
