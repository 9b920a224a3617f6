import { BYTES_PER_GIB } from "@local-serving/base/units/memory";
import { gibRange, timesRange } from "@local-serving/base/units/ranges";
import { thousands } from "@local-serving/base/units/thousands";
import { reuseText } from "@local-serving/kv";
import { gpusOf } from "../planned";
import { type ServerKv, startVerdictOf } from "./serverKv";
import { weightBand, weightsText } from "./weightBands";

/**
 * A server's KV plan as a reviewer reads it in a few seconds: the same rows in a preview's outputs
 * and in a terminal.
 */
export function kvFacts(kv: ServerKv): [label: string, text: string][] {
  const { room, atBest, agents, prefill, start } = kv;
  const { low, high } = room.outsideGiB;
  const outside = gibRange({ lowGiB: low, highGiB: high });
  // The engine refuses if one request doesn't fit.
  const refusesToStart = NOT_STARTING[startVerdictOf(kv)];
  const atOnce = agents.map((each) => {
    const tokens = `${thousands(each.promptTokens)} + ${thousands(each.maxTokens)} tokens`;
    return `${each.atOnce} of ${tokens}${each.admitted ? "" : " (over the context window: HTTP 400)"}`;
  });
  return [
    ...(kv.weightsGB === null ? [] : [weightsFact(kv.weightsGB, gpusOf(kv), room.highGiB + low)]),
    [
      "room",
      `${roomText(room)}${kv.least === undefined ? "" : `, per rank, as on ${kv.least.machine}`}`,
    ],
    ["outside it", room.basis === "setting" ? outside : `${outside} (${room.source})`],
    [
      "full windows",
      `${timesRange(kv.maxConcurrency, atBest.maxConcurrency)} of ${thousands(kv.maxModelLen)} tokens at once, ${kv.maxNumSeqs} sequences${refusesToStart}`,
    ],
    ["longest window", windowText(kv.largestMaxModelLen)],
    [
      "a request",
      kv.requests.map(({ tokens, bytes }) => `${thousands(tokens)}: ${gib(bytes)}`).join(", "),
    ],
    ...(agents.length === 0 ? [] : [agentsFact(atOnce)]),
    ...(prefill === null ? [] : [prefillFact(prefill)]),
    ["block", `${thousands(kv.blockSize)} tokens, ${thousands(kv.bytesPerBlock)} bytes`],
    ["prefix reuse", reuseFact(kv)],
    ...(start === undefined ? [] : startFacts(start)),
    ...(room.basis === "setting" || room.takenGiB !== undefined ? [] : [BY_SHARE]),
  ];
}

const NOT_STARTING: Readonly<Record<ReturnType<typeof startVerdictOf>, string>> = {
  starts: "",
  "may start": ": MAY NOT START",
  "cannot start": ": WOULD NOT START",
};

const agentsFact = (atOnce: readonly string[]): [label: string, text: string] => [
  "agents at once",
  atOnce.join(", "),
];

/** How to get from a share to a cache of fixed size. */
const BY_SHARE: [label: string, text: string] = [
  "cache in bytes",
  "not before it is known what it holds while it serves: `serving verify --only memory --record` records that after a start, then `serving models use` writes `kvCacheMemoryBytes`",
];

/** The verdict, the starts that it rests on, and those that don't count, each with why. */
const startFacts = ({ verdict, why, rests, others }: NonNullable<ServerKv["start"]>) => [
  ["start", `${verdict}: ${why}`] as [label: string, text: string],
  ...listed("rests on", rests),
  ...listed("doesn't count", others),
];

/** Lines below one label. */
const listed = (label: string, lines: readonly string[]): [label: string, text: string][] =>
  lines.map((line, index) => [index === 0 ? label : "", line]);

function reuseFact({ prefixReuseTokens, agentReuse }: ServerKv): string {
  if (prefixReuseTokens === null) return "off";
  const steps = `in steps of ${thousands(prefixReuseTokens)} tokens`;
  return agentReuse === null
    ? steps
    : `${steps}; an agent's turn reuses ${reuseText(agentReuse)} of its last prompt`;
}

function prefillFact({
  prompts,
  source,
}: NonNullable<ServerKv["prefill"]>): [label: string, text: string] {
  const each = prompts.map(({ tokens, seconds }) => `${thousands(tokens)}: ${seconds} s`);
  return ["cold prompt", `${each.join(", ")} at best (${source})`];
}

/** The largest window that the least room can serve. */
function windowText(tokens: number | null): string {
  if (tokens === null) return "any";
  return tokens === 0 ? "none" : `${thousands(tokens)} tokens`;
}

function weightsFact(gb: number, gpus: number, shareGiB: number): [label: string, text: string] {
  return ["weights", `${weightsText(gb, gpus)}, ${weightBand(gb / gpus, shareGiB).verdict}`];
}

const gib = (bytes: number): string => `${(bytes / BYTES_PER_GIB).toFixed(2)} GiB`;

/**
 * The room for the KV cache, and how it is known. No log of the model itself tells an estimated one:
 * it is said to be unknown, with what it would be if the model were like others.
 */
export const roomText = (room: ServerKv["room"]): string =>
  room.basis === "estimated"
    ? `${gibRange(room)}, an estimate before its first start`
    : `${gibRange(room)} (${room.basis})`;
