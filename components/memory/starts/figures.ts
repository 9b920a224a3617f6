import { hundredths } from "@local-serving/base/units/memory";
import { gpusOf } from "../../planned";
import type { ModelStarts, SeenStart } from "../../planned/schema";

/**
 * What a start says of the memory that vLLM charged for all but the KV cache, in GiB of one GPU:
 * just so much, at most so much, or at least.
 */
export interface Charge {
  readonly gib: number;
  readonly is: "exact" | "most" | "least";
  /** Whether its log had the figure; else the start's outcome alone bounds it. */
  readonly isSeen: boolean;
}

/** Whether a server came up; a failure that has another cause than memory says nothing. */
export const outcomeOf = ({
  outcome,
  availableKvGiB,
}: SeenStart): NonNullable<SeenStart["outcome"]> =>
  outcome ?? (availableKvGiB !== null && availableKvGiB <= 0 ? "no-kv-room" : "started");

/**
 * What a start says of the charged memory, for a server with a batch of so many tokens: a larger
 * batch took as much or more, a smaller one as much or less.
 *
 * @param windowGiB what one request of the start's window takes, where that is known
 */
export function chargeOf(
  start: SeenStart,
  batch: number,
  windowGiB: number | undefined,
): Charge | undefined {
  const charge = chargeAsSeen(start, windowGiB);
  const { maxNumBatchedTokens: ran } = start;
  if (charge === undefined || ran === null || ran === batch) return charge;
  const bound = ran > batch ? "most" : "least";
  return charge.is === "exact" || charge.is === bound ? { ...charge, is: bound } : undefined;
}

function chargeAsSeen(start: SeenStart, windowGiB: number | undefined): Charge | undefined {
  const { utilization, totalGiB, availableKvGiB, kvCacheMemoryBytes } = start;
  // A cache of fixed size isn't what was left.
  if (utilization === null || totalGiB === null || kvCacheMemoryBytes !== null) return undefined;
  const budget = utilization * totalGiB;
  if (availableKvGiB !== null)
    return { gib: hundredths(budget - availableKvGiB), is: "exact", isSeen: true };
  if (windowGiB === undefined) return undefined;
  const gib = hundredths(budget - windowGiB);
  const outcome = outcomeOf(start);
  if (outcome === "started") return { gib, is: "most", isSeen: false };
  return outcome === "no-kv-room" ? { gib, is: "least", isSeen: false } : undefined;
}

/**
 * What a process held beside its KV cache while it served, in GiB: as somebody saw it, or by vLLM's
 * own lines. `undefined` where neither is known.
 */
export function heldBeside({ takenGiB, lines }: SeenStart): number | undefined {
  const { weightsGiB, nonTorchGiB, peakActivationGiB, cudaGraphsGiB } = lines;
  const consumed =
    lines.consumedGiB ??
    (weightsGiB === undefined || nonTorchGiB === undefined ? undefined : weightsGiB + nonTorchGiB);
  const byLines =
    consumed === undefined || peakActivationGiB === undefined || cudaGraphsGiB === undefined
      ? undefined
      : hundredths(consumed + peakActivationGiB + cudaGraphsGiB);
  return takenGiB ?? byLines;
}

/** The loaded weights of one GPU, in GiB: by vLLM's own line, else by their whole size. */
export const loadedWeights = (
  { weightsGiB }: Pick<ModelStarts, "weightsGiB">,
  start: SeenStart,
): number | undefined =>
  start.lines.weightsGiB ?? (weightsGiB === null ? undefined : weightsGiB / gpusOf(start));
