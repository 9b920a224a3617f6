import type { DataOf } from "@local-serving/base/data/dataOf";
import { defined } from "@local-serving/base/faults/defined";
import { BYTES_PER_GIB } from "@local-serving/base/units/memory";
import {
  AGGREGATE_LIMIT,
  downToHundredth,
  LIMIT_ABOVE_CAUTION,
  shareHolding,
} from "@local-serving/vllm/utilization";
import type { startNeedsSchema } from "../planned/schema";
import type { MemoryLedger } from "./ledger";
import { type ServerKv, sureOutsideGiB, usualOutsideGiB } from "./serverKv";

/**
 * The least that a server needs to start in the best case. It leaves out what isn't known for
 * certain.
 */
export type StartNeeds = DataOf<typeof startNeedsSchema>;

/** What the cache needs beyond its requests, in GiB: more than one block of any model. */
const BESIDE_WINDOW_GIB = 0.1;

/** The KV cache that holds so many requests of a server's whole window, in GiB. */
export const windowsGiB = (kv: Pick<ServerKv, "bytesPerRequest">, requests: number): number =>
  (requests * kv.bytesPerRequest) / BYTES_PER_GIB + BESIDE_WINDOW_GIB;

/**
 * The share with which a server holds so many requests of its whole window, if it takes no more
 * beside its weights than servers usually do at the least.
 */
export const shareForRequests = (kv: ServerKv, requests: number, totalGiB: number): number =>
  shareHolding(usualOutsideGiB(kv) + windowsGiB(kv, requests), smallest(kv, totalGiB));

/** The share with which it holds so many even with the most that any start took beside its cache. */
export const sureShare = (kv: ServerKv, totalGiB: number, requests = 1): number =>
  shareForWindows(kv, requests, {
    outsideGiB: sureOutsideGiB(kv),
    totalGiB: smallest(kv, totalGiB),
  });

/** The share with which it holds so many, and a block more, if so much lies outside its cache. */
export const shareForWindows = (
  kv: Pick<ServerKv, "bytesPerRequest" | "bytesPerBlock">,
  windows: number,
  { outsideGiB, totalGiB }: { readonly outsideGiB: number; readonly totalGiB: number },
): number => {
  const bytes = windows * kv.bytesPerRequest + kv.bytesPerBlock;
  return shareHolding(outsideGiB + bytes / BYTES_PER_GIB, totalGiB);
};

/** vLLM gives all ranks as many blocks as the machine with the least memory holds. */
const smallest = ({ least }: ServerKv, totalGiB: number): number => least?.totalGiB ?? totalGiB;

/** The least share with which a server starts by all that was seen of its model; 0 if unknown. */
export const leastToStart = (
  { leastUtilization = 0 }: StartNeeds,
  kv: ServerKv | null | undefined,
  totalGiB: number,
): number => Math.max(leastUtilization, kv ? shareForRequests(kv, 1, totalGiB) : 0);

/** The share that covers a KV cache of fixed size and the most that is known to lie beside it. */
export const shareAroundCache = (
  { room: { takenGiB, outsideGiB, lowGiB }, least }: Pick<ServerKv, "room" | "least">,
  totalGiB: number,
): number => shareHolding((takenGiB ?? outsideGiB.high) + lowGiB, least?.totalGiB ?? totalGiB);

/** The smallest KV cache of fixed size that holds one request of the whole window, in bytes. */
export const leastCacheBytes = (kv: Pick<ServerKv, "bytesPerRequest">): number =>
  Math.ceil(windowsGiB(kv, 1) * BYTES_PER_GIB);

/** Where a KV cache of fixed size is to have its place, in GiB. */
interface CachePlace {
  readonly totalGiB: number;
  /** The server's share, which has to be larger than its cache. */
  readonly budgetGiB: number;
  /** The largest share of the machine that isn't refused. */
  readonly fits: number;
}

/**
 * The size in bytes of a KV cache that holds one window, for a server whose own doesn't; `undefined`
 * where that isn't known, or where its share or the machine has no room for it.
 */
export function adviseCache(
  { leastCacheBytes: bytes, outsideGiB = 0 }: StartNeeds,
  { totalGiB, budgetGiB, fits }: CachePlace,
): number | undefined {
  if (bytes === undefined) return undefined;
  const gib = bytes / BYTES_PER_GIB;
  return gib < budgetGiB && outsideGiB + gib <= fits * totalGiB ? bytes : undefined;
}

/** What bounds the share of a server, by its machine's plan. */
export interface ShareRoom {
  /** The largest shares that the sum of memory and the limit on all shares leave. */
  readonly bySum: number;
  readonly byAggregate: number;
  /** The largest that leaves the memory floor as well, where that is smaller. */
  readonly keepingFloor?: number;
  readonly needs: StartNeeds;
}

/** The share to write for a server. */
export interface AdvisedShare {
  /** It is in steps of 0.01; 0 where no share fits with which the server starts. */
  readonly value: number;
  /** With less it can't start; 0 where nobody knows. */
  readonly least: number;
  /** The largest that isn't refused and, if the server starts with one, that leaves the floor. */
  readonly most: number;
  /** The largest that isn't refused. */
  readonly fits: number;
  /** What the plan warns about with `value`: all shares together, or the memory floor. */
  readonly warns: "nothing" | "caution" | "floor";
}

/**
 * The one place that decides which share to write for a server in place of the one it has. Where
 * that is too small, the advised one surely starts or, where so much isn't left, is the least.
 * Otherwise it is the largest that the plan doesn't warn about, if the server surely starts with
 * that, else the largest that isn't refused.
 */
export function adviseShare(room: ShareRoom, now: number): AdvisedShare {
  const { bySum, byAggregate, keepingFloor = Number.POSITIVE_INFINITY, needs } = room;
  const { leastUtilization: least = 0, sureUtilization: sure = least } = needs;
  const fits = Math.min(bySum, byAggregate);
  const keeping = Math.min(fits, keepingFloor);
  const starts = (share: number) => share > 0 && share >= least;
  const most = starts(keeping) ? keeping : fits;
  if (!starts(fits)) return { value: 0, least, most, fits, warns: "nothing" };
  const value = !isTooSmall(now, most, needs)
    ? calmest(room, most)
    : sure <= keeping
      ? Math.max(least, sure)
      : Math.max(least, now);
  const warns = value > keeping ? "floor" : isCautioned(room, value) ? "caution" : "nothing";
  return { value, least, most, fits, warns };
}

/** Whether a share fits, and the server may not start with it. */
const isTooSmall = (now: number, most: number, needs: StartNeeds): boolean =>
  now <= most && now < Math.max(needs.leastUtilization ?? 0, needs.sureUtilization ?? 0);

/** The largest share without a warning, where one is known, else the largest. */
const calmest = ({ needs: { unwarnedUtilization = 0 } }: ShareRoom, most: number): number =>
  Math.min(most, unwarnedUtilization) || most;

/** Whether the plan warns of the sum of all shares. */
const isCautioned = ({ byAggregate }: ShareRoom, share: number): boolean =>
  share > calmLimit(byAggregate);

const calmLimit = (byAggregate: number): number =>
  downToHundredth(byAggregate - LIMIT_ABOVE_CAUTION);

/**
 * The largest share that fits and that the plan doesn't warn about; `undefined` where the server
 * doesn't surely start with that.
 */
export function unwarnedShare(
  largest: MemoryLedger["largestUtilization"][string],
  sure: number,
): number | undefined {
  const { bySum, byAggregate, keepingFloor = bySum } = largest;
  const share = Math.min(bySum, keepingFloor, calmLimit(byAggregate));
  return share >= sure ? share : undefined;
}

/** A machine's plan, as far as it decides about shares. */
interface PlannedShares {
  readonly ledger: Pick<MemoryLedger, "totalGiB" | "largestUtilization">;
  readonly starts: Readonly<Record<string, StartNeeds>>;
  readonly kv: Readonly<Record<string, ServerKv | null>>;
}

/**
 * What bounds the share of a planned server, with all that is known of its start; `undefined` for
 * one that the ledger doesn't have.
 */
export function shareRoom(
  { ledger: { largestUtilization, totalGiB }, starts, kv }: PlannedShares,
  container: string,
): ShareRoom | undefined {
  const { [container]: largest } = largestUtilization;
  const { [container]: needs = {} } = starts;
  const { [container]: plan } = kv;
  if (largest === undefined) return undefined;
  // A cache of fixed size counts by its bytes, not by the share.
  if (plan == null || plan.room.basis === "setting") return { ...largest, needs };
  const sure = sureShare(plan, totalGiB);
  const known = {
    leastUtilization: leastToStart(needs, plan, totalGiB),
    sureUtilization: sure > AGGREGATE_LIMIT ? undefined : sure,
    unwarnedUtilization: unwarnedShare(largest, sure),
  };
  return { ...largest, needs: { ...needs, ...defined(known) } };
}
