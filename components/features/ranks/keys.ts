import * as z from "zod";
import { optional, strictObject } from "zod";
import { count, oneAddress, shortName, textMatching, usual } from "../../planned/fields";

/** Keys of a server: how its model is divided among GPUs and machines. */
export const serverKeys = {
  nodes: optional(
    z
      .array(shortName())
      .min(2, "Expected at least two machines: for a single machine, delete this line"),
  )
    .describe(
      "Machines that share the model, by their names in this stack. The first must be the machine that declares the server: it is the head, which has the API. Each needs a `link`. Default: this machine alone.",
    )
    .meta({ examples: [["dgx1", "dgx2"]] }),
  tensorParallelSize: usual(1, count()).describe(
    "`--tensor-parallel-size`: parts of each layer. With `nodes`, this times `pipelineParallelSize` is the number of all their GPUs: 2 over two DGX Sparks.",
  ),
  pipelineParallelSize: usual(1, count()).describe(
    "`--pipeline-parallel-size`: stages of layers, one after the other. For 3 or 5 machines, or for many requests at once.",
  ),
  masterPort: usual(29_501, count(1024, 65_534)).describe(
    "`--master-port`: port on the link by which the ranks of a server with `nodes` find each other. Their start gates use the next one.",
  ),
};

/**
 * Addresses that internet routers don't forward. Only these are allowed, since the ranks of a model
 * check no key.
 */
const PRIVATE = new RegExp(
  String.raw`^(?:10\.B|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01]))\.B\.B$`.replaceAll(
    "B",
    String.raw`(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`,
  ),
);

const OF_A_LINK =
  "Expected an IPv4 address of a private network (10.x, 172.16.x to 172.31.x, 192.168.x or 169.254.x): the ranks accept commands from anyone who can reach them";

/** Whether an address is a private one, whatever stands behind a slash. */
const isPrivate = (input: unknown) => PRIVATE.test(String(input).replace(/\/\d+$/, ""));

const link = strictObject({
  interface: textMatching(
    /^[\w.][\w.-]{0,14}$/,
    "Expected the name of a network interface, such as enp1s0f1np1",
  )
    .describe("Network interface of the link, as `ip -br link` prints it on the machine.")
    .meta({ examples: ["enp1s0f1np1"] }),
  address: textMatching(PRIVATE, {
    error: ({ input }) => (isPrivate(input) ? oneAddress(OF_A_LINK)({ input }) : OF_A_LINK),
  })
    .describe("The machine's own address on that interface.")
    .meta({ examples: ["192.168.100.11"] }),
  hcas: usual(
    [],
    z.array(textMatching(/^\w+$/, "Expected the name of an RDMA device, such as rocep1s0f1")),
  )
    .describe(
      "RDMA devices of the link, as `ibdev2netdev` prints them on the machine: two for each cable of a DGX Spark. Without them NCCL uses sockets, which is slow.",
    )
    .meta({ examples: [["rocep1s0f1", "roceP2p1s0f1"]] }),
  gidIndex: optional(count(0, 255)).describe(
    "NCCL_IB_GID_INDEX: index of the address's RoCE v2 GID, as `show_gids` prints it on the machine. Needed with `hcas`.",
  ),
}).describe(
  "The machine's end of the private network to other machines, over which one model runs on several (`inferenceServers.*.nodes`). No other computer may be on it: vLLM's ranks check no key.",
);

/** Keys of a machine. */
export const machineKeys = { link: link.optional() };

export type ServerKeys = z.output<z.ZodObject<typeof serverKeys>>;
export type MachineKeys = z.output<z.ZodObject<typeof machineKeys>>;
