import type { Ledger, LedgerLine } from "../types";
import { AGGREGATE_LIMIT, downToHundredth, sumOfUtilizations, tenThousandths } from "./utilization";

/** Memory outside the model that one instance was seen to take beyond its budget: 55.67 GiB against 54.73. */
export const OVERSHOOT_GIB = 0.94;

/** What vLLM takes beside weights and KV cache while it starts (5.4 to 6.7 GiB were measured). */
const ENGINE_OVERHEAD_GIB = 6.7;

/** Memory of one compile process (3 to 8 GiB were seen). */
const COMPILE_JOB_GIB = 8;

const GIB_PER_GB = 1e9 / 1024 ** 3;

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
export type OtherConsumer = LedgerLine;

/** Adds up one machine's memory. Every figure is in GiB, rounded to 0.01, and the sum is the sum of what is shown. */
export function ledger(
  totalGiB: number,
  shares: readonly MemoryShare[],
  others: readonly OtherConsumer[],
): Ledger {
  const lines: LedgerLine[] = [...shares.flatMap((share) => linesOf(share, totalGiB)), ...others];
  const sumGiB = hundredths(lines.reduce((sum, line) => sum + line.gib, 0));
  return {
    totalGiB,
    aggregateUtilization: sumOfUtilizations(shares.map((share) => share.utilization)),
    sumGiB,
    lines,
    largestUtilizationThatFits: Object.fromEntries(
      shares
        .filter((share) => share.ours)
        .map((share) => [share.name, largestFit(share, totalGiB, shares, others)]),
    ),
  };
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
      source: "seen on one 0.45 instance: 55.67 GiB against a budget of 54.73 GiB",
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

/** The smaller of what the sum of memory and what the aggregate limit leave, rounded down to 0.01. */
function largestFit(
  share: MemoryShare,
  totalGiB: number,
  shares: readonly MemoryShare[],
  others: readonly OtherConsumer[],
): number {
  const neighbours = shares.filter((each) => each !== share);
  const taken =
    neighbours.reduce((sum, each) => sum + each.utilization * totalGiB + OVERSHOOT_GIB, OVERSHOOT_GIB) +
    others.reduce((sum, line) => sum + line.gib, 0);
  const bySum = (totalGiB - taken) / totalGiB;
  const byAggregate =
    (tenThousandths(AGGREGATE_LIMIT) -
      tenThousandths(sumOfUtilizations(neighbours.map((each) => each.utilization)))) /
    tenThousandths(1);
  return downToHundredth(Math.min(bySum, byAggregate));
}

/** Rounds an amount of memory to 0.01 GiB, the precision of every figure shown. */
export function hundredths(gib: number): number {
  return Math.round(gib * 100) / 100;
}
