import { BYTES_PER_GB, BYTES_PER_GIB } from "@local-serving/base/units/memory";
import type { MemoryDemand } from "@local-serving/vllm/utilization";
import { leastBeforeKv, type StartNeeds } from "../../memory";

/** What a server's arguments ask for. */
export type Asked = MemoryDemand & { readonly window: number };

/**
 * Why a server can't start, or, of `cramped` alone, may not: the machine or its share is smaller than
 * its weights, one window lacks the room, others saw it fail, or vLLM's own memory leaves no window.
 */
export type StartFault = "machine" | "share" | "window" | "seen" | "cramped";

/** The least that a server takes before any KV cache, by its weights, in GiB. */
export const leastGiB = ({ weightsGiB = 0 }: StartNeeds): number =>
  leastBeforeKv((weightsGiB * BYTES_PER_GIB) / BYTES_PER_GB);

/** What its memory lacks for a start, by what is known for certain; `undefined` where nothing is. */
export function startFault(
  { utilization, kvCacheGiB }: Asked,
  needs: StartNeeds,
  totalGiB: number,
): StartFault | undefined {
  const { weightsGiB = 0, outsideGiB, windowGiB = 0, byName, cannotStart } = needs;
  if (outsideGiB === undefined) return undefined;
  const budget = utilization * totalGiB;
  if (byName !== undefined && weightsGiB > totalGiB) return "machine";
  if (kvCacheGiB === undefined && weightsGiB > budget) return "share";
  if (windowGiB > (kvCacheGiB ?? budget - outsideGiB)) return "window";
  if (cannotStart !== undefined) return "seen";
  const least = leastGiB(needs) + (kvCacheGiB ?? 0);
  return byName !== undefined && least >= budget ? "cramped" : undefined;
}

/** Whether a window is longer than the model's own, which vLLM refuses. */
export const isTooLong = ({ window }: Asked, { modelWindow }: StartNeeds): boolean =>
  modelWindow !== undefined && window > modelWindow;
