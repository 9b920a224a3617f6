import { createHash } from "node:crypto";
import { type Rank, rankContainer } from "../planned/rank";
import type { InferenceServerSettings } from "../settings/inferenceServer";
import type { MachineSettings } from "../settings/machine";

/** A rank before its mark, which is made of its arguments. */
export type RankPlace = Omit<Rank, "mark">;

/**
 * Size of a rank's own /dev/shm. If two ranks on one computer shared the machine's, they would take
 * each other for processes of one rank.
 */
export const RANK_SHM_GIB = 64;

/**
 * vLLM ends a step after five minutes, and a rank may compile kernels for longer in the middle of
 * one.
 */
const STEP_TIMEOUT_SECONDS = 1800;

/**
 * The rank of `server` that runs on `machine`; `undefined` if the server runs on a single machine.
 * `container` is its head's.
 */
export function rankOn(
  machine: string,
  server: InferenceServerSettings,
  container: string,
  machines: Readonly<Record<string, MachineSettings>>,
): RankPlace | undefined {
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
export const headAddress = ({ nodes: [head] }: Pick<Rank, "nodes">): string => head?.address ?? "";

/** How long ranks wait for each other at a start: as long as one may take to load. */
const MEETING_SECONDS = 1800;

/** How a rank joins the others. */
export const rankValues = (rank: RankPlace) => ({
  "--nnodes": rank.nodes.length,
  "--node-rank": rank.index,
  "--headless": rank.index > 0,
  "--master-addr": headAddress(rank),
  "--master-port": rank.masterPort,
});

/** Arguments of a rank that no setting gives. */
export const RANK_ARGUMENTS = ["--distributed-timeout-seconds", String(MEETING_SECONDS)];

/** Variables of a rank that may be set otherwise. */
export const RANK_DEFAULTS: Readonly<Record<string, string>> = {
  NCCL_IGNORE_CPU_AFFINITY: "1",
  VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS: String(STEP_TIMEOUT_SECONDS),
};

/** Variables of one rank: how it reaches the others, and the mark that its start gate compares. */
export function rankVariables({ link, mark }: Rank): Readonly<Record<string, string>> {
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
export function markedRank(
  place: RankPlace,
  image: string,
  headCommand: readonly string[],
  env: Readonly<Record<string, string>>,
): Rank {
  const text = JSON.stringify([image, headCommand, env]);
  return { ...place, mark: createHash("sha256").update(text).digest("hex").slice(0, 16) };
}
