import { gateLine } from "../../sees/gateLines";
import { OPENS, RAISED, READY, STARTED_WITH, sign, startSign } from "../../sees/log/sign";
import { APPLY, type Row, SEE_THE_LINK, type Told, type Words } from "../rule";

/** A rank without an API watches its own processes, and nobody else's. */
const HEADLESS = sign("headless multiproc executor");
const CLOSED_BY_PEER = startSign(
  ["recvValue failed on SocketImpl", 'Failed to check the "should dump" flag', "pair.cc:"],
  /recvValue failed on SocketImpl|"should dump" flag|pair\.cc:\d+\] (?:\w+ error|Connection closed by peer) \[([\d.]+)\]/,
);
const STOPPED_FOR_HEAD = sign("stopped for the head", gateLine("stopped for (the head: .*?);"));
const STOPPED_FOR_OTHER = sign(
  "stopped for the",
  gateLine("stopped for (the (?:rank|link)\\b.*?);"),
);

/** vLLM's own word that it is one of several ranks. */
const SEVERAL_NODES = sign(["'nnodes': ", "'node_rank': ", "'headless': True"]);

/** A model of one process alone, which has no other rank. */
const ALONE = sign("world_size=1 ");

/** What a step that doesn't end is called, by vLLM and by `serving verify`. */
const STALLED = startSign(
  ["RPC call to", "stalled: "],
  /TimeoutError: RPC call to (\w+) timed out|stalled: (no token) in/,
);

/** Whether a log is surely of one of several machines. */
const isOfSeveral = ({ hit: { log }, server: { settings } }: Told): boolean =>
  settings?.nodes !== undefined || log.hits.has(SEVERAL_NODES);

/** Ray looks for GPUs, and the address of the node that has to have one of them. */
const RAY_WAITS = startSign(
  "creating a placement group of specs",
  /creating a placement group of specs for (\d+) seconds\.(?: specs=.{0,200}?'node:([\w.:-]+)')?/,
);
const RAY = startSign(["ray: command not found", "environment variable NCCL_IB"]);

/** Whether a log is surely of a server on one machine: there is no link then. */
const isAlone = (told: Told): boolean => {
  const { hits } = told.hit.log;
  return !isOfSeveral(told) && (hits.has(ALONE) || hits.has(STARTED_WITH));
};

/** A rank that doesn't come to the head: by what torch tries, and by what it gives up. */
const NO_MASTER = startSign(
  ["TCP client failed to connect/validate", "client socket has"],
  /TCP client failed to connect\/validate to host \[?([\w.:-]+?)\]?:(\d+) - retrying \(try=\d+[^)]*\)(.*)|client socket has (?:failed to connect to|timed out after \d+ms while trying to connect to) [[(](?:::ffff:)?([\w.:-]+?)(?:\]:|, )(\d+)(.*)/,
);
/** The ranks of a group have found each other. */
const MET = sign("is assigned as DP rank");

/** One of several ranks is about to look for the head. */
const GOES_TO_HEAD = sign(
  "distributed_init_method=tcp://",
  /world_size=(?!1 )\d+ rank=(\d+) .*distributed_init_method=tcp:\/\/\[?([\w.:-]+?)\]?:(\d+)\b/,
);

/** Tries after which a head that is started a little later would have been there. */
const TRIES = 3;

/** Why a rank doesn't come to the head, by torch's own words, and what to do. */
const NO_WAY: readonly (readonly [words: RegExp, why: string, advice: string])[] = [
  [
    /Ping failed|invalid value/i,
    "what answers there is no head of vLLM",
    "Another program has that port, or a proxy answers for it: correct the head's address, or write another `masterPort`.",
  ],
  [
    /errno: ?111|refused/i,
    "nothing listens there",
    "Start the head (rank 0), too: a rank waits for it. If it runs, its `masterPort` and the `link.address` of its machine have to be what this rank asks for.",
  ],
  [
    /^/,
    "no answer comes",
    "Compare `link.interface` and `link.address` of each machine with what it has, look at the cable, and let all TCP through between these addresses, in both directions.",
  ],
];

function unreached({ hit }: Told): Words {
  const [host1 = "", port1, rest1, host2, port2, rest2] = hit.groups;
  const [host, port, rest = ""] = host1 === "" ? [host2, port2, rest2] : [host1, port1, rest1];
  const [, why, advice] = NO_WAY.find(([words]) => words.test(rest)) ?? [];
  const often = hit.count > 1 ? ` It has tried ${hit.count} times.` : "";
  return {
    cause: `A rank doesn't reach the head at ${host}, port ${port} (\`--master-addr\`): ${why}.${often}`,
    advice,
    command: `ping -c 2 ${host}; ${SEE_THE_LINK}`,
  };
}

/** What a gate says of what it waits for, and what to do about it. */
const WAITS: readonly (readonly [words: RegExp, advice: string])[] = [
  [/other arguments/, "No setting to change: apply the stack file, which replaces both ranks."],
  [/can't listen/, "Correct `link.address`, or choose another `masterPort` if the port is taken."],
  [
    /^the link/,
    "Look at the cable, and at the network settings of `link.interface` on both machines.",
  ],
  [
    /does not answer$|firewall/,
    "Start that machine, or apply the stack file there; let all TCP through between the `link.address` of both, in both directions.",
  ],
  [
    /^/,
    "No setting to change: it starts as soon as the other rank can. That rank's log says what it waits for.",
  ],
];

/** One model on several machines: its ranks, and the link between them. */
export const ranks: readonly Row[] = [
  {
    id: "rank-gone",
    when: [STOPPED_FOR_OTHER, CLOSED_BY_PEER],
    unless: ({ hit: { log } }) => log.hits.has(HEADLESS) && !log.hits.has(STOPPED_FOR_OTHER),
    say: ({ hit }) => ({
      cause: `Another rank of this server ended or can't be reached${hit.groups[0] ? ` (${hit.groups[0]})` : ""}, so this one can't go on.`,
      advice:
        "No setting to change: the other rank's log says why. The start gates start all ranks again.",
      command: "serving status --wait",
    }),
  },
  {
    id: "rank-orphaned",
    when: [STOPPED_FOR_HEAD, CLOSED_BY_PEER],
    unless: ({ hit: { log } }) => !log.hits.has(STOPPED_FOR_HEAD) && !log.hits.has(HEADLESS),
    say: ({ server }) => ({
      cause:
        "The head of this server ended. A rank without its head answers no request, and keeps its memory.",
      advice:
        "No setting to change: its start gate ends it after a minute; without a gate, restart it by hand.",
      command: `docker restart ${server.container}`,
    }),
  },
  {
    id: "rank-waits",
    when: sign(
      ["waiting for the rank", "waiting for the link"],
      gateLine("waiting for (the (?:rank|link)\\b.*)"),
    ),
    unless: ({ hit }) => (hit.log.hits.get(OPENS)?.lineNumber ?? 0) > hit.lineNumber,
    say: ({ hit: { groups } }) => ({
      cause: `The server isn't started yet; its start gate waits for ${groups[0]}.`,
      advice: WAITS.find(([words]) => words.test(groups[0] ?? ""))?.[1],
      command: `${SEE_THE_LINK}; ${APPLY}`,
    }),
  },
  {
    id: "master-unreached",
    when: NO_MASTER,
    unless: ({ hit }) =>
      (hit.log.hits.get(MET)?.lineNumber ?? 0) > hit.lineNumber ||
      (hit.count < TRIES && !/timed out|Ping failed/.test(hit.line)),
    say: unreached,
  },
  {
    id: "master-unreached",
    when: GOES_TO_HEAD,
    // Every rank says it: it means something only where a log that somebody gave ends with it.
    unless: ({ hit: { lineNumber, log } }) => log.kind !== "file" || lineNumber < log.lines,
    say: ({ hit: { groups } }) => ({
      cause: `The log ends where rank ${groups[0]} looks for the others, at ${groups[1]}, port ${groups[2]}: it waits there until the head (rank 0) and all ranks have come.`,
      advice:
        "Nothing is wrong yet: start the others, too. If they run, compare the head's address and `masterPort` on all of them, and let all TCP through between their link addresses.",
      command: `ping -c 2 ${groups[1]}; ${SEE_THE_LINK}`,
      harmless: true,
    }),
  },
  {
    id: "rank-stalled",
    when: STALLED,
    say(told) {
      const { hit, server } = told;
      const step = hit.groups.find((group) => group !== "");
      const seconds = "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS";
      const isSet = server.settings?.environment[seconds] !== undefined;
      const cause = (why: string) =>
        `A step of the model (${step}) did not end in time: ${why}. /health answered 200 until then.`;
      const edits = isSet ? [server.set(["environment", seconds], undefined)] : [];
      if (isOfSeveral(told))
        return {
          cause: cause("the link is down, a rank hangs, or it compiled"),
          edits,
          advice:
            "See whether the link is up, and what the other rank logged last. What was compiled is kept.",
          command: `${SEE_THE_LINK}; ${isSet ? APPLY : "serving status --wait"}`,
        };
      const more = isAlone(told)
        ? ""
        : " If the model is split over several machines, see as well whether the link is up, and what the other rank logged last.";
      return {
        cause: cause("a worker hangs, or it compiled"),
        edits,
        advice: `Restart it: what was compiled is kept. If it happens again, see what the kernel's log says of the GPU (Xid) and of its memory, and take another release.${more}`,
        command: `sudo dmesg | grep -iE 'NVRM|xid|blocked for' | tail; ${isSet ? APPLY : `docker restart ${server.container} && serving status --wait`}`,
      };
    },
  },
  {
    id: "ray-executor",
    when: RAY_WAITS,
    // It got what it waited for.
    unless: ({ hit }) => (hit.log.hits.get(MET)?.lineNumber ?? 0) > hit.lineNumber,
    say: ({ hit: { groups } }) => ({
      cause:
        groups[1] === ""
          ? `Ray has waited ${groups[0]} s for GPUs that no node of its cluster has free.`
          : `Ray has waited ${groups[0]} s for a GPU on the node ${groups[1]}, which is what vLLM takes for this machine's address: no node of Ray's cluster has that address, or the GPUs of its nodes are taken.`,
      advice:
        "`ray list nodes` has the addresses that Ray's nodes go by, and `ray status` their GPUs: set VLLM_HOST_IP on each machine to its own one of these addresses, and let every machine join the cluster. Or name the machines in `nodes`, which needs no Ray.",
      command: "ray status; ray list nodes; ip -brief address",
    }),
  },
  {
    id: "ray-executor",
    when: RAY,
    say: () => ({
      cause:
        "The server was started with Ray: vLLM's image has none, and its nodes overwrite each other's variables.",
      advice:
        "Name the machines in `nodes`, which needs no Ray, and leave Ray out of your own arguments.",
    }),
  },
  {
    id: "rank-address-wrong",
    when: startSign([
      "Failed to get the IP address, using 0.0.0.0",
      "process group spans across nodes",
    ]),
    // Every good start says the second: it means something only where a log that somebody gave ends
    // with it.
    unless: ({ hit: { line, lineNumber, log }, server: { settings } }) =>
      line.includes("spans across nodes")
        ? log.kind !== "file" || lineNumber < log.lines
        : // On one machine alone nobody else needs the address.
          settings?.nodes === undefined &&
          settings?.environment.VLLM_HOST_IP === undefined &&
          !log.hits.has(SEVERAL_NODES),
    say: ({ server }) => ({
      cause:
        "A rank told the others no address that they can reach: VLLM_HOST_IP is not its address on the link.",
      edits: [server.set(["environment", "VLLM_HOST_IP"], undefined)],
      advice:
        "With `nodes` the plan sets it to each machine's `link.address`; without a plan, set it yourself.",
    }),
  },
  {
    id: "worker-process-died",
    when: startSign(
      "died unexpectedly",
      /Worker proc (\S+) died unexpectedly \(exit code: (?!-9\b)/,
    ),
    // A server that had served had captured its graphs.
    unless: ({ hit: { log, afterServing } }) =>
      log.hits.has(RAISED) || afterServing === true || log.hits.has(READY),
    say: () => ({
      cause:
        "A process of vLLM died without a word: usually because memory ran out while CUDA graphs were captured.",
      advice: "A second start often passes. If not, lower `gpuMemoryUtilization` or `maxNumSeqs`.",
      command:
        "sudo journalctl --dmesg --since -1h | grep -iE 'out of memory|oom|NVRM'; serving status --wait",
    }),
  },
];
