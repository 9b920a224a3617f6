import type { DataOf } from "@local-serving/base/data/dataOf";
import type { rankSchema } from "./schema/rank";

/**
 * One rank of a server over several machines. Rank 0, the *head*, has the API; the others, the
 * *workers*, have none.
 */
export type Rank = DataOf<typeof rankSchema>;

/** A machine's end of the private network over which the ranks of a server reach each other. */
export type Link = Rank["link"];

/** Port, on the link, by which the start gates of the ranks see each other. */
export const gatePort = (masterPort: number): number => masterPort + 1;

/** Container of a rank, by its head's. */
export const rankContainer = (head: string, index: number): string =>
  index === 0 ? head : `${head}-rank${index}`;

/** Variables whose value is each rank's own. */
export const RANK_VARIABLES = [
  "GLOO_SOCKET_IFNAME",
  "LOCAL_SERVING_RANKS",
  "NCCL_IB_DISABLE",
  "NCCL_IB_GID_INDEX",
  "NCCL_IB_HCA",
  "NCCL_SOCKET_IFNAME",
  "TP_SOCKET_IFNAME",
  "VLLM_HOST_IP",
];
