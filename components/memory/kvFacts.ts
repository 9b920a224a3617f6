import type { ServerKv } from "./serverKv";
import { weightBand, weightsText } from "./weightBands";

/** A server's KV plan as a reviewer reads it in a few seconds: the same rows in a preview's outputs and in a terminal. */
export function kvFacts(kv: ServerKv): [label: string, text: string][] {
  const { room, atBest, agents, prefill } = kv;
  const { low, high } = room.outsideGiB;
  const outside = gibRange({ lowGiB: low, highGiB: high });
  return [
    ...(kv.weightsGB === null ? [] : [weightsFact(kv.weightsGB)]),
    ["room", `${gibRange(room)} (${room.basis})`],
    ["outside it", room.basis === "setting" ? outside : `${outside} (${room.source})`],
    [
      "full windows",
      `${timesRange(kv.maxConcurrency, atBest.maxConcurrency)} of ${count(kv.maxModelLen)} tokens at once, ${kv.maxNumSeqs} sequences${startsText(kv)}`,
    ],
    ["longest window", windowText(kv.largestMaxModelLen)],
    ["a request", kv.requests.map(({ tokens, bytes }) => `${count(tokens)}: ${gib(bytes)}`).join(", ")],
    [
      "agents at once",
      agents
        .map(
          ({ promptTokens, maxTokens, atOnce, admitted }) =>
            `${atOnce} of ${count(promptTokens)} + ${count(maxTokens)} tokens${admitted ? "" : " (over the window: status 400)"}`,
        )
        .join(", "),
    ],
    ["cold prompt", prefill.map(({ tokens, seconds }) => `${count(tokens)}: ${seconds} s`).join(", ")],
    ["block", `${count(kv.blockSize)} tokens, ${count(kv.bytesPerBlock)} bytes`],
    [
      "prefix reuse",
      kv.prefixReuseTokens === null ? "off" : `in steps of ${count(kv.prefixReuseTokens)} tokens`,
    ],
  ];
}

/** The largest window that the least room can serve. */
function windowText(tokens: number | null): string {
  if (tokens === null) return "any";
  return tokens === 0 ? "none" : `${count(tokens)} tokens`;
}

function weightsFact(gb: number): [label: string, text: string] {
  return ["weights", `${weightsText(gb)}, ${weightBand(gb).verdict}`];
}

/** Whether the engine refuses to start, for want of room for one request. */
function startsText({ fits, atBest }: ServerKv): string {
  if (fits) return "";
  return atBest.fits ? ": MAY NOT START" : ": WOULD NOT START";
}

function gib(bytes: number): string {
  return `${(bytes / 1024 ** 3).toFixed(2)} GiB`;
}

/** Thousands as the engine's log writes them. */
function count(value: number): string {
  return value.toLocaleString("en-US");
}

/** `4.31 to 4.94 GiB`, or one figure where it is exact. */
export function gibRange({ lowGiB, highGiB }: { readonly lowGiB: number; readonly highGiB: number }): string {
  return lowGiB === highGiB
    ? `${lowGiB.toFixed(2)} GiB`
    : `${lowGiB.toFixed(2)} to ${highGiB.toFixed(2)} GiB`;
}

/** `1.6 to 1.9`, or one figure where both are the same. */
export function timesRange(low: number, high: number): string {
  return low === high ? low.toFixed(2) : `${low.toFixed(2)} to ${high.toFixed(2)}`;
}
