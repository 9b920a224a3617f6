/** A machine's end of the private network over which the ranks of a server reach each other. */
export interface Link {
  /** Network interface, as the machine names it. */
  readonly interface: string;
  /** The machine's IPv4 address on it. */
  readonly address: string;
  /** RDMA devices of the link; empty where NCCL goes by sockets. */
  readonly hcas: readonly string[];
  /** Index of the RoCE v2 GID of the address, where there are RDMA devices. */
  readonly gidIndex?: number | undefined;
}

/** Where one rank of a server is. */
export interface RankNode {
  readonly machine: string;
  /** Address of its machine on the link. */
  readonly address: string;
  readonly container: string;
}

/** One rank of a server over several machines. Rank 0, the *head*, has the API; the others, the *workers*, have none. */
export interface Rank {
  readonly index: number;
  /** All ranks of the server, this one included, in their order. */
  readonly nodes: readonly RankNode[];
  /** This machine's end. */
  readonly link: Link;
  /** Port of the head on which ranks find each other. */
  readonly masterPort: number;
  /** Fingerprint of what all ranks must have alike: image, arguments, environment. */
  readonly mark: string;
}

/** Port, on the link, by which the start gates of the ranks see each other. */
export const gatePort = (masterPort: number): number => masterPort + 1;

/** Key of a worker on its machine, as a bridge's settings name a server of another one: `dgx1.b`. */
export const workerKey = (head: string, key: string): string => `${head}.${key}`;

/** Container of a rank, by its head's. */
export const rankContainer = (head: string, index: number): string => (index === 0 ? head : `${head}-rank${index}`);

/** Variables whose value is each rank's own. */
export const RANK_VARIABLES = [
  ...["GLOO_SOCKET_IFNAME", "LOCAL_SERVING_RANKS", "NCCL_IB_DISABLE", "NCCL_IB_GID_INDEX", "NCCL_IB_HCA"],
  ...["NCCL_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "VLLM_HOST_IP"],
];
