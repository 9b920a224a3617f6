import {
  type ServerKv,
  type StartNeeds,
  shareForRequests,
  usualOutsideGiB,
} from "../../components/memory";
import { BYTES_PER_GIB } from "../../units/memory";
import { thousands } from "../../units/thousands";

/** The share of its machine that a model which writes no text needs. */
export interface ComputedShare {
  /** It holds as many requests of the whole window as are served at once. */
  readonly needed: number;
  /** It holds one: with less the server doesn't start. */
  readonly least: number;
  /** What it was computed of; absent where it is the recipe's own. */
  readonly why?: string;
}

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
): ComputedShare {
  if (kv === null) return { needed: wanted, least: Math.min(wanted, needs.leastUtilization ?? 1) };
  const outside = usualOutsideGiB(kv).toFixed(2);
  const request = (kv.bytesPerRequest / BYTES_PER_GIB).toFixed(2);
  return {
    needed: shareForRequests(kv, requests, totalGiB),
    least: shareForRequests(kv, 1, totalGiB),
    why: `computed: ${outside} GiB of weights and vLLM at the least, and ${requests} requests of ${thousands(kv.maxModelLen)} tokens at ${request} GiB each`,
  };
}
