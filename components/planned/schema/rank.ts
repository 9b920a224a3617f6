import * as z from "zod";
import { port } from "../fields";

const text = () => z.string();

const rankNode = z.object({
  machine: text(),
  address: text().describe("Address of its machine on the link."),
  container: text(),
});

const link = z.object({
  interface: text().describe("Network interface, as the machine names it."),
  address: text().describe("The machine's IPv4 address on it."),
  hcas: z.array(text()).describe("RDMA devices of the link; empty if NCCL uses sockets."),
  gidIndex: z
    .int()
    .optional()
    .describe("Index of the RoCE v2 GID of the address, if there are RDMA devices."),
});

export const rankSchema = z
  .object({
    index: z.int().describe("0 is the head, which has the API."),
    nodes: z
      .array(rankNode)
      .describe("All ranks of the server, this one included, in their order."),
    link: link.describe("This machine's end of the network between the ranks."),
    masterPort: port().describe("Port on the head by which the ranks find each other."),
    mark: text().describe(
      "Fingerprint of what must be the same on all ranks: image, arguments, environment.",
    ),
  })
  .meta({ id: "Rank", description: "One rank of a server over several machines." });
