import { BYTES_PER_GIB } from "@local-serving/base/units/memory";
import { type EngineLog, type EngineRefusal, longestRequest } from "@local-serving/kv";
import { cacheWithin, shareHolding, shareWithin } from "@local-serving/vllm/utilization";
import { leastCacheBytes, shareForWindows } from "../advice";
import type { ServerKv } from "../serverKv";
import { outsideKvGiB, type StartedServer } from "./record";

/** vLLM's messages have memory in hundredths of a GiB: the true figure may be this much off. */
const PRINTED_TO_GIB = 0.005;

/** A setting worth trying next, with its reason. */
export interface NextSetting {
  readonly setting: "gpuMemoryUtilization" | "maxModelLen" | "maxNumSeqs" | "kvCacheMemoryBytes";
  readonly value: number;
  readonly why: string;
}

/**
 * Returns what to try after a start, or after a refusal. It names a share only if the ledger leaves
 * room for it, else a shorter window.
 */
export function nextSettings(kv: ServerKv, log: EngineLog, server: StartedServer): NextSetting[] {
  if (log.refusal !== undefined) return afterRefusal(log.refusal, kv, log, server);
  if (log.availableKvGiB === undefined) return [];
  const outside = outsideKvGiB(server, log.availableKvGiB);
  const { maxNumSeqs } = server;
  const held = `${maxNumSeqs} whole windows at once`;
  return [
    ...roomFor({ windows: maxNumSeqs, held }, kv, server, outside),
    ...fixedCache(kv, log, server, outside),
  ];
}

/** How many whole windows the cache should hold, and the same in words. */
interface Wish {
  readonly windows: number;
  readonly held: string;
}

/**
 * Returns a share that holds that many whole windows. If there is none, it returns all there is,
 * and the window that then fits.
 */
function roomFor(
  { windows, held }: Wish,
  kv: ServerKv,
  server: StartedServer,
  outsideGiB: number,
): NextSetting[] {
  const { gpuMemoryUtilization: now, largestUtilization: largest, totalGiB } = server;
  const share = shareForWindows(kv, windows, { outsideGiB, totalGiB });
  if (share <= now) return [];
  if (share <= largest)
    return [{ setting: "gpuMemoryUtilization", value: share, why: `holds ${held}` }];
  const best = Math.max(now, largest);
  // Blocks that this version's fit check keeps free, where the pool has any.
  const reserved = kv.numBlocks === 0 ? 1 : kv.numBlocks - kv.usableBlocks;
  const blocks =
    Math.floor(((best * totalGiB - outsideGiB) * BYTES_PER_GIB) / kv.bytesPerBlock) - reserved;
  const window = longestRequest(kv.layout, Math.floor(blocks / windows)) ?? 0;
  const shorter: NextSetting[] =
    window > 0 && window < kv.maxModelLen
      ? [
          {
            setting: "maxModelLen",
            value: window,
            why: `${held} at utilization ${best.toFixed(2)}`,
          },
        ]
      : [];
  if (largest <= now || shorter.length === 0) return shorter;
  const most = `the most that the other servers leave; ${held} would need ${share.toFixed(2)}`;
  return [{ setting: "gpuMemoryUtilization", value: largest, why: most }, ...shorter];
}

/**
 * The size of the cache as a setting of its own, with the share that vLLM still checks at its
 * start.
 */
function fixedCache(
  kv: ServerKv,
  log: EngineLog,
  server: StartedServer,
  outsideGiB: number,
): NextSetting[] {
  const { gpuMemoryUtilization: now, largestUtilization, totalGiB } = server;
  const beside = log.takenGiB ?? outsideGiB;
  const left = Math.max(now, largestUtilization) * totalGiB - beside;
  const seen = log.kvCacheMemoryBytes ?? Math.floor((log.availableKvGiB ?? 0) * BYTES_PER_GIB);
  const bytes = cacheWithin(Math.min(seen / BYTES_PER_GIB, left), leastCacheBytes(kv));
  if (bytes === undefined) return [];
  const share = shareHolding(beside + bytes / BYTES_PER_GIB, totalGiB);
  return [
    {
      setting: "kvCacheMemoryBytes",
      value: bytes,
      why: `keeps the KV cache at this size; set it together with gpuMemoryUtilization ${share}, which vLLM still checks at its start. No memory is then reserved for the peak of a long prompt: test one with \`serving verify --only long-prompt\``,
    },
  ];
}

function afterRefusal(
  refusal: EngineRefusal,
  kv: ServerKv,
  log: EngineLog,
  server: StartedServer,
): NextSetting[] {
  switch (refusal.kind) {
    case "admission": {
      const { freeGiB, totalGiB } = refusal;
      const value = shareWithin(freeGiB - PRINTED_TO_GIB, totalGiB + PRINTED_TO_GIB);
      if (value <= 0) return [];
      const why = `${freeGiB} GiB was available when it started`;
      return [{ setting: "gpuMemoryUtilization", value, why }];
    }
    case "too-many-sequences":
      return [
        {
          setting: "maxNumSeqs",
          value: refusal.blocks,
          why: "the blocks of the pool: each sequence needs one",
        },
      ];
    case "profiling-disturbed":
      return [];
    case "no-kv-room":
    case "request-does-not-fit": {
      const seen =
        refusal.kind === "request-does-not-fit" ? refusal.availableGiB : log.availableKvGiB;
      const outside = seen === undefined ? kv.room.outsideGiB.high : outsideKvGiB(server, seen);
      const found = roomFor({ windows: 1, held: "one whole window" }, kv, server, outside);
      const window =
        refusal.kind === "request-does-not-fit" ? refusal.largestMaxModelLen : undefined;
      if (window === undefined || found.some((each) => each.setting === "maxModelLen"))
        return found;
      const why = "the engine's own estimate for this room";
      return [...found, { setting: "maxModelLen", value: window, why }];
    }
  }
}
