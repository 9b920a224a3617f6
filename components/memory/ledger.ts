import type { LedgerLine } from "../planned/facts";
import {
  AGGREGATE_LIMIT,
  downToHundredth,
  sumOfUtilizations,
  TEN_THOUSAND,
  tenThousandths,
} from "../planned/utilization";

/** Memory of one machine, line by line. */
export interface Ledger {
  readonly totalGiB: number;
  /** Sum of the utilizations of all inference servers, instance A included. */
  readonly aggregateUtilization: number;
  readonly sumGiB: number;
  readonly lines: readonly LedgerLine[];
  /** For each of our servers, the largest utilization that fits beside everything else, rounded down to 0.01. */
  readonly largestUtilizationThatFits: Readonly<Record<string, number>>;
  /** What stands behind it: the smaller of the two is the answer. */
  readonly largestUtilization: Readonly<Record<string, LargestUtilization>>;
}
/** Largest utilizations of one server, rounded down to 0.01; 0 where none fits. */
export interface LargestUtilization {
  /** By the sum of all lines against the machine's total. */
  readonly bySum: number;
  /** By the limit on the sum of utilizations. */
  readonly byAggregate: number;
}

/** Memory outside the model that one instance was seen to take beyond its budget: 55.67 GiB against 54.73. */
const OVERSHOOT_GIB = 0.94;

/** Memory of one compile process (3 to 8 GiB were seen). */
const COMPILE_JOB_GIB = 8;

/** A server that takes a share of the machine's memory. */
export interface MemoryShare {
  /** Container name, or `instance A`. */
  readonly name: string;
  readonly utilization: number;
  /** Ours can be changed by the stack file; instance A can't. */
  readonly ours: boolean;
  readonly weightsGB?: number;
  readonly compileJobs?: number;
}

/** A consumer of memory beside the servers. */
type OtherConsumer = LedgerLine;

/** Adds up one machine's memory. Every figure is in GiB, rounded to 0.01, and the sum is the sum of what is shown. */
export function ledger(
  totalGiB: number,
  shares: readonly MemoryShare[],
  others: readonly OtherConsumer[],
): Ledger {
  const lines: LedgerLine[] = [...shares.flatMap((share) => linesOf(share, totalGiB)), ...others];
  const largest = largestUtilizations(totalGiB, shares, others);
  return {
    totalGiB,
    aggregateUtilization: sumOfUtilizations(shares.map((share) => share.utilization)),
    sumGiB: hundredths(lines.reduce((sum, line) => sum + line.gib, 0)),
    lines,
    largestUtilizationThatFits: Object.fromEntries(
      Object.entries(largest).map(([name, { bySum, byAggregate }]) => [name, Math.min(bySum, byAggregate)]),
    ),
    largestUtilization: largest,
  };
}

/** What a share takes of the machine, in GiB, rounded to 0.01: budget and overshoot. */
export function takenBy(utilization: number, totalGiB: number): number {
  return hundredths(utilization * totalGiB) + OVERSHOOT_GIB;
}

function linesOf(share: MemoryShare, totalGiB: number): LedgerLine[] {
  const budget = hundredths(share.utilization * totalGiB);
  const lines: LedgerLine[] = [
    {
      name: share.name,
      gib: budget,
      basis: "setting",
      source: `gpuMemoryUtilization ${share.utilization} of ${totalGiB} GiB`,
    },
    {
      name: `${share.name}: overshoot`,
      gib: OVERSHOOT_GIB,
      basis: "default",
      source: "55.67 GiB were seen against a budget of 54.73",
    },
  ];
  if (share.weightsGB !== undefined && share.compileJobs !== undefined) {
    const compiling =
      share.weightsGB * GIB_PER_GB + ENGINE_OVERHEAD_GIB + share.compileJobs * COMPILE_JOB_GIB;
    const beyond = hundredths(Math.max(0, compiling - budget));
    // Compiling happens before the KV cache is filled, so only what exceeds the server's own budget counts.
    if (beyond > 0) {
      lines.push({
        name: `${share.name}: compiling`,
        gib: beyond,
        basis: "default",
        source: `weights + ${ENGINE_OVERHEAD_GIB} GiB + ${share.compileJobs} jobs x ${COMPILE_JOB_GIB} GiB, beyond its own budget`,
      });
    }
  }
  return lines;
}

/**
 * For each of our servers the largest utilizations that the sum of memory and the aggregate limit leave, rounded down to
 * 0.01. What compiling takes for a while is left out: it is a reason to warn, and no share makes it fit. Sums are taken
 * once for all, so that many servers cost no more than few.
 */
function largestUtilizations(
  totalGiB: number,
  shares: readonly MemoryShare[],
  others: readonly OtherConsumer[],
): Record<string, LargestUtilization> {
  const aggregate = tenThousandths(sumOfUtilizations(shares.map((share) => share.utilization)));
  const taken = [
    ...shares.map((share) => takenBy(share.utilization, totalGiB)),
    ...others.map((line) => line.gib),
  ].reduce((sum, gib) => sum + gib, 0);
  return Object.fromEntries(
    shares
      .filter((share) => share.ours)
      .map(({ name, utilization }) => {
        const beside = taken - takenBy(utilization, totalGiB) + OVERSHOOT_GIB;
        const left = tenThousandths(AGGREGATE_LIMIT) - (aggregate - tenThousandths(utilization));
        return [
          name,
          {
            bySum: largestWithin(hundredths(totalGiB) - beside, totalGiB),
            byAggregate: downToHundredth(left / TEN_THOUSAND),
          },
        ];
      }),
  );
}

/** The largest share, in hundredths, whose line (rounded to 0.01 GiB, as the sum has it) is at most what is free. */
function largestWithin(freeGiB: number, totalGiB: number): number {
  const share = downToHundredth(freeGiB / totalGiB);
  const next = downToHundredth(share + 0.01);
  return hundredths(next * totalGiB) <= hundredths(freeGiB) ? next : share;
}

/** Rounds an amount of memory to 0.01 GiB, the precision of every figure shown. */
export function hundredths(gib: number): number {
  return Math.round(gib * 100) / 100;
}

/** GiB (1024^3 bytes) in a GB (10^9 bytes). */
export const GIB_PER_GB = 1e9 / 1024 ** 3;

/** What vLLM takes beside weights and KV cache, at its most (llamastash measured 5.4 to 6.7 GiB). */
export const ENGINE_OVERHEAD_GIB = 6.7;

/**
 * What was seen between a server's weights and its KV cache, activations and CUDA graphs included, on a DGX Spark: 75 GB
 * of weights at 0.72 left 14.79 GiB (2.9 GiB beside them); 22 GB at 0.4 left -1.75 GiB (29.9 GiB beside them).
 */
export const BESIDE_WEIGHTS_GIB = { least: 2.9, most: 29.9 } as const;
