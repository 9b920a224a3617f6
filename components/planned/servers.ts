import type { DataOf } from "@local-serving/base/data/dataOf";
import type { machineSchema } from "./schema/machine";
import type { inferenceServerSchema } from "./schema/servers";

/** What one machine will run. */
export type PlannedMachine = DataOf<typeof machineSchema>;

/** A server, or its container on one of its machines. */
export type PlannedServer = DataOf<typeof inferenceServerSchema>;

/** A container and the machine that it is on. */
interface Place {
  readonly machine: string;
  readonly container: string;
}

/** Every server of ours that takes memory on a machine, whether it answers there or elsewhere. */
export const serversOn = ({
  inferenceServers,
  ranks,
}: Pick<PlannedMachine, "inferenceServers" | "ranks">): PlannedServer[] => [
  ...inferenceServers,
  ...ranks,
];

/** A machine's plan with one of its servers alone. */
export const withServer = (machine: PlannedMachine, server: PlannedServer): PlannedMachine => ({
  ...machine,
  inferenceServers: [server],
  ranks: [],
});

/** The containers of a server, that which answers first. Most servers have one. */
export const placesOf = (
  machine: string,
  { rank, container }: Pick<PlannedServer, "rank" | "container">,
): readonly Place[] => rank?.nodes ?? [{ machine, container: container.name }];

/** Whether requests go to this container of its server. */
export const answers = ({ rank }: Pick<PlannedServer, "rank">): boolean =>
  rank === undefined || rank.index === 0;

/** The containers of a server that have to run before this one can answer: none of most. */
export const neededBy = (server: Pick<PlannedServer, "rank">): readonly Place[] =>
  answers(server) ? (server.rank?.nodes.slice(1) ?? []) : [];

/** The machine that declares a server, and its key there. */
export function declaredAs(
  machine: string,
  server: Pick<PlannedServer, "rank" | "container" | "key">,
): { readonly machine: string; readonly key: string } {
  const [first] = placesOf(machine, server);
  const home = first?.machine ?? machine;
  return { machine: home, key: answers(server) ? server.key : server.key.slice(home.length + 1) };
}

/**
 * Key of a server on a machine that doesn't declare it, written as a bridge's settings name a server
 * of another machine: `dgx1.b`.
 */
export const keyElsewhere = (machine: string, key: string): string => `${machine}.${key}`;
