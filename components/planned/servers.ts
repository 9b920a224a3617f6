import type { DataOf } from "./schema/dataOf";
import type { machineSchema } from "./schema/machine";

type Machine = DataOf<typeof machineSchema>;
type Server = Machine["inferenceServers"][number];

/** A container and the machine that it is on. */
interface Place {
  readonly machine: string;
  readonly container: string;
}

/** Every server of ours that takes memory on a machine, whether it answers there or elsewhere. */
export const serversOn = ({
  inferenceServers,
  ranks,
}: Pick<Machine, "inferenceServers" | "ranks">): Server[] => [...inferenceServers, ...ranks];

/** A machine's plan with one of its servers alone. */
export const withServer = (machine: Machine, server: Server): Machine => ({
  ...machine,
  inferenceServers: [server],
  ranks: [],
});

/** The containers of a server, that which answers first. Most servers have one. */
export const placesOf = (
  machine: string,
  { rank, container }: Pick<Server, "rank" | "container">,
): readonly Place[] => rank?.nodes ?? [{ machine, container: container.name }];

/** Whether requests go to this container of its server. */
export const answers = ({ rank }: Pick<Server, "rank">): boolean =>
  rank === undefined || rank.index === 0;

/** The containers of a server that have to run before this one can answer: none of most. */
export const neededBy = (server: Pick<Server, "rank">): readonly Place[] =>
  answers(server) ? (server.rank?.nodes.slice(1) ?? []) : [];

/** The machine that declares a server, and its key there. */
export function declaredAs(
  machine: string,
  server: Pick<Server, "rank" | "container" | "key">,
): { readonly machine: string; readonly key: string } {
  const [first] = placesOf(machine, server);
  const home = first?.machine ?? machine;
  return { machine: home, key: answers(server) ? server.key : server.key.slice(home.length + 1) };
}
