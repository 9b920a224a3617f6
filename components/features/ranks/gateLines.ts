import { gatePort, type PlannedServer } from "../../planned";

/** A rank's own place on the link, and where the gates of the others are. */
export function gateLines({ container: { name }, rank }: PlannedServer): (number | string)[][] {
  if (rank === undefined) return [];
  const { index, nodes, link, masterPort } = rank;
  const port = gatePort(masterPort);
  return [
    ["rank", name, index, link.address, port, link.interface],
    ...nodes.flatMap(({ machine, address }, at) =>
      at === index ? [] : [["peer", name, machine, address, port]],
    ),
  ];
}
