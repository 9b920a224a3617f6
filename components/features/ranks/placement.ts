import { createHash } from "node:crypto";
import { HOST_NETWORK, type Rank, rankContainer } from "../../planned";
import type { Placement, Placing } from "../kind";
import type { MachineKeys, ServerKeys } from "./keys";

/** A rank before its mark, which is made of its arguments. */
type RankPlace = Omit<Rank, "mark">;

/**
 * Size of a rank's own /dev/shm. If two ranks on one computer shared the machine's, they would take
 * each other for processes of one rank.
 */
const RANK_SHM_GIB = 64;

/**
 * vLLM ends a step after five minutes, and a rank may compile kernels for longer in the middle of
 * one.
 */
const STEP_TIMEOUT_SECONDS = 1800;

/**
 * The rank of `server` that runs on `machine`; `undefined` if the server runs on a single machine.
 * `container` is its head's.
 */
function rankOn({
  machine,
  server,
  container,
  machines,
}: Placing<ServerKeys, MachineKeys>): RankPlace | undefined {
  const { nodes = [], masterPort } = server;
  const link = machines[machine]?.link;
  if (link === undefined || !nodes.includes(machine)) return undefined;
  return {
    index: nodes.indexOf(machine),
    nodes: nodes.map((name, index) => ({
      machine: name,
      address: machines[name]?.link?.address ?? "",
      container: rankContainer(container, index),
    })),
    link,
    masterPort,
  };
}

/** Address on the link at which a server's ranks, its API and its health are: the head's. */
const headAddress = ({ nodes: [head] }: Pick<Rank, "nodes">): string => head?.address ?? "";

/** How long ranks wait for each other at a start: as long as one may take to load. */
const MEETING_SECONDS = 1800;

/** How a rank joins the others. */
const rankValues = (rank: RankPlace) => ({
  "--host": headAddress(rank),
  "--nnodes": rank.nodes.length,
  "--node-rank": rank.index,
  "--headless": rank.index > 0,
  "--master-addr": headAddress(rank),
  "--master-port": rank.masterPort,
});

/** Arguments of a rank that no setting gives. */
const RANK_ARGUMENTS = ["--distributed-timeout-seconds", String(MEETING_SECONDS)];

/** Variables of a rank that may be set otherwise. */
const RANK_DEFAULTS: Readonly<Record<string, string>> = {
  NCCL_IGNORE_CPU_AFFINITY: "1",
  VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS: String(STEP_TIMEOUT_SECONDS),
};

/** Variables of one rank: how it reaches the others, and the mark that its start gate compares. */
function rankVariables({ link, mark }: Rank): Readonly<Record<string, string>> {
  const { interface: name, address, hcas, gidIndex = 0 } = link;
  return {
    VLLM_HOST_IP: address,
    NCCL_SOCKET_IFNAME: name,
    GLOO_SOCKET_IFNAME: name,
    TP_SOCKET_IFNAME: name,
    ...(hcas.length === 0
      ? { NCCL_IB_DISABLE: "1" }
      : { NCCL_IB_DISABLE: "0", NCCL_IB_HCA: hcas.join(","), NCCL_IB_GID_INDEX: String(gidIndex) }),
    LOCAL_SERVING_RANKS: mark,
  };
}

/**
 * Adds a rank's mark: a fingerprint of what all ranks must share, which is the image, the head's
 * arguments and the variables.
 */
function markedRank(
  place: RankPlace,
  image: string,
  headCommand: readonly string[],
  env: Readonly<Record<string, string>>,
): Rank {
  const text = JSON.stringify([image, headCommand, env]);
  return { ...place, mark: createHash("sha256").update(text).digest("hex").slice(0, 16) };
}

/**
 * Returns how a rank's container is isolated from the machine: its network less than other
 * servers', its memory more. Docker stores the capability in this form. Any other form would
 * replace the container at every update.
 */
function rankIsolation({ link }: RankPlace) {
  return {
    ipc: "private",
    shmGiB: RANK_SHM_GIB,
    ...(link.hcas.length === 0
      ? {}
      : { devices: ["/dev/infiniband"], capabilities: ["CAP_IPC_LOCK"] }),
    network: HOST_NETWORK,
  } as const;
}

/** How a server stands on one of the machines that share its model. */
export function place(placing: Placing<ServerKeys, MachineKeys>): Placement | undefined {
  const rank = rankOn(placing);
  if (rank === undefined) return undefined;
  return {
    container: rank.nodes[rank.index]?.container ?? placing.container,
    flags: rankValues(rank),
    firstFlags: rankValues({ ...rank, index: 0 }),
    arguments: RANK_ARGUMENTS,
    defaults: RANK_DEFAULTS,
    reach: { address: headAddress(rank), onLink: true },
    publishes: false,
    isolation: rankIsolation(rank),
    sealed({ image, firstCommand, env }) {
      const marked = markedRank(rank, image, firstCommand, env);
      return { variables: rankVariables(marked), detail: { rank: marked } };
    },
  };
}
