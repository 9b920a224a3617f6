import { upToHundredth } from "./utilization";

/** A GiB is 1024^3 bytes. */
export const BYTES_PER_GIB = 1024 ** 3;

/** What decides how much of a machine's memory one inference server takes. */
export interface MemoryDemand {
  readonly utilization: number;
  /** Fixed size of the KV cache, in GiB: for the cache vLLM then ignores the utilization. */
  readonly kvCacheGiB?: number;
  /** What the server takes outside its KV cache, in GiB, where that is known. */
  readonly outsideGiB?: number;
  /** Buffers that vLLM counts as the CPU's, in GiB. */
  readonly hostGiB?: number;
}

/**
 * What a server takes of its machine, in GiB. vLLM takes its share, and with a fixed KV cache also whatever that cache
 * needs beyond the share. Where nothing is known of the rest, the rest may be as large as the share. Memory of the CPU is
 * the same memory on this machine.
 */
export function takenGiB(
  { utilization, kvCacheGiB, outsideGiB, hostGiB = 0 }: MemoryDemand,
  totalGiB: number,
): number {
  const share = utilization * totalGiB;
  return Math.max(share, kvCacheGiB === undefined ? 0 : (outsideGiB ?? share) + kvCacheGiB) + hostGiB;
}

/** Whether a server takes just its share, whatever the machine's total. */
export function takesItsShare({ kvCacheGiB, hostGiB = 0 }: MemoryDemand): boolean {
  return kvCacheGiB === undefined && hostGiB === 0;
}

/** The share of the machine to declare for a server of somebody else's: its own, unless it takes memory beside it. */
export function shareToDeclare(demand: MemoryDemand, totalGiB: number): number {
  return takesItsShare(demand) ? demand.utilization : upToHundredth(takenGiB(demand, totalGiB) / totalGiB);
}
