import type { PlannedServer } from "../../planned";

/** A server's place in its row of the plan. */
export const row = ({ rank }: PlannedServer): string[] =>
  rank === undefined ? [] : [`rank ${rank.index} of ${rank.nodes.length}`];

/** Where the other ranks of a server are, and the link between them. */
export function lines({ rank }: PlannedServer): string[] {
  if (rank === undefined) return [];
  const { index, nodes, link } = rank;
  const others = nodes.flatMap(({ machine, address, container }, at) =>
    at === index ? [] : [`rank ${at} is ${container} on ${machine} (${address})`],
  );
  const by =
    link.hcas.length === 0 ? "sockets" : `RDMA on ${link.hcas.join(" and ")}, GID ${link.gidIndex}`;
  return [
    `rank ${index} of ${nodes.length}${index === 0 ? ", the head, which has the API" : ""}; ${others.join(", ")}`,
    `link: ${link.interface}, ${link.address}, by ${by}; no other computer may be on it`,
  ];
}

/** What makes a server slow that answers here. */
export function warnings({ rank }: PlannedServer): [code: string, text: string][] {
  if (rank?.index !== 0 || rank.link.hcas.length > 0) return [];
  const machines = rank.nodes.map(({ machine }) => `\`machines.${machine}.link\``).join(" and ");
  const message = `its ranks use sockets, not RDMA, so each token waits for them. Declare the link's RDMA devices, \`hcas\` (\`ibdev2netdev\` prints them) and \`gidIndex\`, below ${machines}.`;
  return [["link-by-sockets", message]];
}
