import { BYTES_PER_GIB } from "@local-serving/base/units/memory";
import { thousands } from "@local-serving/base/units/thousands";
import { type StartNeeds, shareForRequests } from "./advice";
import { type ServerKv, usualOutsideGiB } from "./serverKv";

/** What a plan says that a server needs. */
interface PlannedNeeds {
  readonly kv: ServerKv | null;
  readonly needs: StartNeeds;
  /** Requests that it serves at once. */
  readonly requests: number;
}

/**
 * Computes the share of a model that makes vectors or sorts, from a plan of it with any share. Where
 * its KV cache can't be planned, it needs what its recipe says.
 */
export function computedShare(
  { kv, needs, requests }: PlannedNeeds,
  wanted: number,
  totalGiB: number,
): { readonly needed: number; readonly least: number; readonly why?: string } {
  // A name tells no more than the weights take at the least.
  const { leastUtilization = 1, byName } = needs;
  if (kv === null)
    return {
      needed: wanted,
      least: byName === undefined ? Math.min(wanted, leastUtilization) : wanted,
    };
  const outside = usualOutsideGiB(kv).toFixed(2);
  const request = (kv.bytesPerRequest / BYTES_PER_GIB).toFixed(2);
  return {
    needed: shareForRequests(kv, requests, totalGiB),
    least: shareForRequests(kv, 1, totalGiB),
    why: `computed: ${outside} GiB of weights and vLLM at the least, and ${requests} requests of ${thousands(kv.maxModelLen)} tokens at ${request} GiB each`,
  };
}
