import { gateLine } from "../../sees/gateLines";
import { OPENS, RAISED, READY, sign, startSign } from "../../sees/log/sign";
import { APPLY, type Row, SEE_THE_LINK } from "../rule";

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
