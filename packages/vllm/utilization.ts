import { BYTES_PER_GIB } from "@local-serving/base/units/memory";

/**
 * Largest sum of `--gpu-memory-utilization` over all instances of a machine (specification,
 * "Limits").
 */
export const AGGREGATE_LIMIT = 0.9;

/** What vLLM takes when the flag is missing (its cache configuration, 0.26 to 0.33). */
export const VLLM_DEFAULT_UTILIZATION = 0.92;

/** Above this sum machines of this kind were seen to hang; the plan warns. */
export const AGGREGATE_CAUTION = 0.8;

/** How far the limit on the sum of shares is above the sum that a plan warns about. */
export const LIMIT_ABOVE_CAUTION = AGGREGATE_LIMIT - AGGREGATE_CAUTION;

/**
 * Shares are summed and compared in whole ten-thousandths: in binary fractions 0.72 + 0.18 is above
 * 0.9.
 */
export const TEN_THOUSAND = 10_000;

/** The step in which a utilization is suggested: 0.01, in ten-thousandths. */
const HUNDREDTH = 100;

/** Far below a ten-thousandth and far above the noise of binary fractions. */
const NOISE = 1e-6;

/** What a few sums of binary fractions below 1 are off at most. */
const OFF_BY_SUMS = 4 * Number.EPSILON;

/**
 * A share in whole ten-thousandths, rounded up so that a sum is never taken for less than it is:
 * 0.9000000001 is above 0.90.
 */
export function tenThousandths(share: number): number {
  const nearest = Math.round(share * TEN_THOUSAND);
  const isNearest = Math.abs(share - nearest / TEN_THOUSAND) <= OFF_BY_SUMS;
  return isNearest ? nearest : Math.ceil(share * TEN_THOUSAND);
}

/**
 * The same of a share that somebody wrote, where each digit counts: 0.4500000000000001 is above
 * 0.45.
 */
export function writtenTenThousandths(share: number): number {
  const whole = tenThousandths(share);
  return share > whole / TEN_THOUSAND ? whole + 1 : whole;
}

/** Sum of utilizations, free of binary rounding. */
export const sumOfUtilizations = (utilizations: readonly number[]): number =>
  utilizations.reduce((sum, each) => sum + tenThousandths(each), 0) / TEN_THOUSAND;

/** A share for a person: two decimals, or up to four where they are needed. */
export function shareText(ofTenThousand: number): string {
  const [whole = "0", decimals = ""] = (ofTenThousand / TEN_THOUSAND).toFixed(4).split(".");
  return `${whole}.${decimals.replace(/0{1,2}$/, "")}`;
}

/** A share, or a sum of shares, as a person reads it: never rounded to what it is not. */
export const utilizationText = (utilization: number): string =>
  shareText(tenThousandths(utilization));

/**
 * The largest share that still fits beside the others, all in ten-thousandths, rounded down to
 * 0.01; 0 when none does.
 */
export const largestThatFits = (limit: number, others: number): number =>
  Math.max(0, Math.floor((limit - others) / HUNDREDTH) * HUNDREDTH);

/** Rounds a share down to 0.01, the step in which one is suggested; never below 0. */
export const downToHundredth = (utilization: number): number =>
  Math.max(0, Math.floor(utilization * 100 + NOISE) / 100);

/** Rounds a share up to 0.01: so much is needed. */
export const upToHundredth = (utilization: number): number =>
  Math.ceil(utilization * 100 - NOISE) / 100;

/** The smallest share of a machine that has so many GiB, in steps of 0.01. */
export const shareHolding = (gib: number, totalGiB: number): number =>
  upToHundredth(gib / totalGiB);

/** The largest share of a machine that takes at most so many GiB, in steps of 0.01; never below 0. */
export const shareWithin = (gib: number, totalGiB: number): number =>
  downToHundredth(gib / totalGiB);

/**
 * The largest KV cache of fixed size in so many GiB, in bytes; `undefined` where it would hold less
 * than the server needs.
 *
 * @param leastBytes what the server needs, where that is known
 */
export function cacheWithin(gib: number, leastBytes = 1): number | undefined {
  const bytes = Math.floor(gib * BYTES_PER_GIB);
  return bytes >= leastBytes ? bytes : undefined;
}

/** What decides how much of a machine's memory one inference server takes. */
export interface MemoryDemand {
  readonly utilization: number;
  /** Fixed size of the KV cache. vLLM then ignores the utilization for the cache. */
  readonly kvCacheGiB?: number;
  /** Memory that the server takes outside its KV cache, if known. */
  readonly outsideGiB?: number;
  /** Buffers that vLLM counts as CPU memory. */
  readonly hostGiB?: number;
}

/**
 * What a server takes of its machine, in GiB. vLLM takes its share, and with a fixed KV cache also
 * whatever that cache needs beyond the share. If the rest is unknown, it may be as large as the
 * share. Memory of the CPU is the same memory on this machine.
 */
export function takenGiB(
  { utilization, kvCacheGiB, outsideGiB, hostGiB = 0 }: MemoryDemand,
  totalGiB: number,
): number {
  const share = utilization * totalGiB;
  return (
    Math.max(share, kvCacheGiB === undefined ? 0 : (outsideGiB ?? share) + kvCacheGiB) + hostGiB
  );
}

/** Whether a server takes just its share, whatever the machine's total. */
export const takesItsShare = ({ kvCacheGiB, hostGiB = 0 }: MemoryDemand): boolean =>
  kvCacheGiB === undefined && hostGiB === 0;

/**
 * Returns the share of the machine to declare for somebody else's server. It is the server's own
 * share, unless it takes memory beside it.
 */
export const shareToDeclare = (demand: MemoryDemand, totalGiB: number): number =>
  takesItsShare(demand) ? demand.utilization : shareHolding(takenGiB(demand, totalGiB), totalGiB);
