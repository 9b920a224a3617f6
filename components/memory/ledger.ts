import type { DataOf } from "@local-serving/base/data/dataOf";
import { defined } from "@local-serving/base/faults/defined";
import { hundredths } from "@local-serving/base/units/memory";
import {
  AGGREGATE_LIMIT,
  downToHundredth,
  type MemoryDemand,
  shareWithin,
  sumOfUtilizations,
  TEN_THOUSAND,
  takenGiB,
  takesItsShare,
  tenThousandths,
} from "@local-serving/vllm/utilization";
import type { LedgerLine } from "../planned";
import type { ledgerSchema } from "../planned/schema";

/** Memory of one machine, line by line. */
export type MemoryLedger = DataOf<typeof ledgerSchema>;

/**
 * Memory that one instance was seen to take beyond its budget: it took 55.67 GiB with a budget of
 * 54.73.
 */
const OVERSHOOT_GIB = 0.94;

/** Memory of one compile process (3 to 8 GiB were seen). */
const COMPILE_JOB_GIB = 8;

/** A server and what it asks of the machine's memory. */
export interface MemoryShare extends MemoryDemand {
  /** Container name, or `instance A`. */
  readonly name: string;
  /** Ours can be changed by the stack file; instance A can't. */
  readonly ours: boolean;
  /** Memory of its loaded weights. */
  readonly weightsGiB?: number;
  readonly compileJobs?: number;
  /**
   * What such servers were seen to take outside the KV cache, in GiB, where this one was not
   * measured.
   */
  readonly publishedOutsideGiB?: number;
  /** What `outsideGiB` is: held while it served, charged by vLLM's profile, or its weights alone. */
  readonly outsideIs?: "taken" | "charged" | "weights";
  /** What it keeps of its adapters in the host's memory, and how that was counted. */
  readonly adapters?: { readonly gib: number; readonly source: string };
}

/**
 * Adds up one machine's memory. Every figure is in GiB, rounded to 0.01, and the sum is the sum of
 * what is shown. `floorGiB`: what the start gates keep available.
 */
export function ledger(
  totalGiB: number,
  shares: readonly MemoryShare[],
  others: readonly LedgerLine[],
  floorGiB = 0,
): MemoryLedger {
  const lines: LedgerLine[] = [...shares.flatMap((share) => linesOf(share, totalGiB)), ...others];
  const sumGiB = hundredths(lines.reduce((sum, line) => sum + line.gib, 0));
  const largest = withFloor(largestUtilizations(totalGiB, shares, others), shares, {
    totalGiB,
    floorGiB,
    sumGiB,
  });
  const fixed = shares.flatMap(({ name, kvCacheGiB, outsideGiB }) =>
    kvCacheGiB === undefined ? [] : [[name, { kvCacheGiB, ...defined({ outsideGiB }) }] as const],
  );
  return {
    totalGiB,
    aggregateUtilization: sumOfUtilizations(shares.map((share) => shareTaken(share, totalGiB))),
    sumGiB,
    lines,
    largestUtilizationThatFits: Object.fromEntries(
      Object.entries(largest).map(([name, { bySum, byAggregate }]) => [
        name,
        Math.min(bySum, byAggregate),
      ]),
    ),
    largestUtilization: largest,
    ...(fixed.length === 0 ? {} : { fixedKvCache: Object.fromEntries(fixed) }),
  };
}

/** How a server's line of what it compiles at its first start is called. */
const COMPILING = "compiling";

/** How its line of what such servers were seen to take outside the KV cache is called. */
const BESIDE_WEIGHTS = "beside its weights";

/**
 * The lines that `largestUtilization` leaves out, as their server's part is called: no share makes
 * room for them, since a larger one only moves them into the budget.
 */
export const partsBeyondShares = (lines: readonly { readonly name: string }[]): string[] =>
  [COMPILING, BESIDE_WEIGHTS].filter((part) => lines.some(({ name }) => isPart(name, part)));

const isPart = (name: string, part: string) => name.endsWith(`: ${part}`);

/** What a server adds to a sum: all its lines, and what it compiles for a while by itself. */
export function addedBy(share: MemoryShare, totalGiB: number) {
  const lines = linesOf(share, totalGiB);
  const isCompiling = ({ name }: LedgerLine) => name === `${share.name}: ${COMPILING}`;
  const gib = (some: readonly LedgerLine[]) =>
    hundredths(some.reduce((sum, line) => sum + line.gib, 0));
  return {
    lines,
    takenGiB: gib(lines.filter((line) => !isCompiling(line))),
    certainGiB: gib(lines.filter(({ basis }) => basis !== "default")),
    compilingGiB: gib(lines.filter(isCompiling)),
    utilization: sumOfUtilizations([shareTaken(share, totalGiB)]),
  };
}

/** What a server takes of the machine, in GiB, rounded to 0.01: budget and overshoot. */
export const takenBy = (demand: MemoryDemand, totalGiB: number): number =>
  hundredths(takenGiB(demand, totalGiB)) + OVERSHOOT_GIB;

const shareTaken = (demand: MemoryDemand, totalGiB: number): number =>
  takesItsShare(demand) ? demand.utilization : takenGiB(demand, totalGiB) / totalGiB;

function linesOf(share: MemoryShare, totalGiB: number): LedgerLine[] {
  const budget = hundredths(takenGiB(share, totalGiB));
  const seen = "55.67 GiB were seen against a budget of 54.73";
  const lines: LedgerLine[] = [
    { name: share.name, gib: budget, basis: "setting", source: budgetSource(share, totalGiB) },
    { name: `${share.name}: overshoot`, gib: OVERSHOOT_GIB, basis: "default", source: seen },
  ];
  if (share.weightsGiB !== undefined && share.compileJobs !== undefined) {
    const compiling = share.weightsGiB + ENGINE_OVERHEAD_GIB + share.compileJobs * COMPILE_JOB_GIB;
    const beyond = hundredths(Math.max(0, compiling - budget));
    // Compiling happens before the KV cache is filled, so only what exceeds the server's own budget
    // counts.
    if (beyond > 0) {
      const source = `weights + ${ENGINE_OVERHEAD_GIB} GiB + ${share.compileJobs} jobs x ${COMPILE_JOB_GIB} GiB, beyond its own budget`;
      lines.push({ name: `${share.name}: ${COMPILING}`, gib: beyond, basis: "default", source });
    }
  }
  const { publishedOutsideGiB: outsideGiB } = share;
  const more =
    outsideGiB === undefined
      ? 0
      : hundredths(takenGiB({ ...share, outsideGiB }, totalGiB) - budget);
  if (more > 0) {
    const source = `${hundredths(outsideGiB ?? 0)} GiB were seen outside the KV cache of such a server; measure yours`;
    lines.push({ name: `${share.name}: ${BESIDE_WEIGHTS}`, gib: more, basis: "default", source });
  }
  if (share.adapters !== undefined)
    lines.push({ name: `${share.name}: adapters`, basis: "default", ...share.adapters });
  return lines;
}

function budgetSource(share: MemoryShare, totalGiB: number): string {
  const { utilization, kvCacheGiB, outsideGiB, hostGiB = 0 } = share;
  const budget = `gpuMemoryUtilization ${utilization} of ${totalGiB} GiB`;
  const host = hostGiB > 0 ? ` + ${hundredths(hostGiB)} GiB of buffers outside it` : "";
  if (kvCacheGiB === undefined) return `${budget}${host}`;
  const cache = `${hundredths(kvCacheGiB)} GiB of kvCacheMemoryBytes`;
  if (outsideGiB === undefined) return `${budget} + ${cache}, as its weights aren't known${host}`;
  const sum = `${hundredths(outsideGiB)} GiB ${OUTSIDE_BY[share.outsideIs ?? "weights"]} + ${cache}`;
  return outsideGiB + kvCacheGiB > utilization * totalGiB
    ? `${sum}, more than ${budget}${host}`
    : `${budget}, at least the ${sum}${host}`;
}

/** What a figure of the memory outside a fixed cache is. */
const OUTSIDE_BY = {
  taken: "taken outside the KV cache while it served",
  charged: "charged outside the KV cache by vLLM's profile",
  weights: "of weights outside the KV cache",
} as const;

/**
 * Returns the largest utilization that the sum of memory and the aggregate limit leave to each of
 * our servers, rounded down to 0.01. It leaves out what compiling takes for a while, which is a
 * reason to warn: no share makes it fit. It computes sums once for all servers, so that many cost
 * no more than few.
 */
function largestUtilizations(
  totalGiB: number,
  shares: readonly MemoryShare[],
  others: readonly LedgerLine[],
): MemoryLedger["largestUtilization"] {
  const aggregate = tenThousandths(
    sumOfUtilizations(shares.map((share) => shareTaken(share, totalGiB))),
  );
  const all = [
    ...shares.map((share) => takenBy(share, totalGiB) + (share.adapters?.gib ?? 0)),
    ...others.map((line) => line.gib),
  ];
  const taken = all.reduce((sum, gib) => sum + gib, 0);
  return Object.fromEntries(
    shares
      .filter((share) => share.ours)
      .map((share) => {
        const beside = taken - takenBy(share, totalGiB) + OVERSHOOT_GIB;
        const others = aggregate - tenThousandths(shareTaken(share, totalGiB));
        const left = (tenThousandths(AGGREGATE_LIMIT) - others) / TEN_THOUSAND;
        const { outsideGiB, kvCacheGiB = 0, hostGiB = 0 } = share;
        const fixedGiB = takenGiB({ ...share, utilization: 0 }, totalGiB);
        const besideShare = hostGiB + (outsideGiB === undefined ? kvCacheGiB : 0);
        const within = (freeGiB: number) =>
          fixedGiB > freeGiB ? 0 : largestWithin(freeGiB - besideShare, totalGiB);
        return [
          share.name,
          {
            bySum: within(hundredths(totalGiB) - beside),
            byAggregate: takesItsShare(share) ? downToHundredth(left) : within(left * totalGiB),
          },
        ];
      }),
  );
}

/**
 * Adds to each server's largest share the largest that leaves the floor, where that is smaller. It
 * counts all lines, compiling too, as the warning of the floor does.
 */
function withFloor(
  largest: MemoryLedger["largestUtilization"],
  shares: readonly MemoryShare[],
  machine: { readonly totalGiB: number; readonly floorGiB: number; readonly sumGiB: number },
): MemoryLedger["largestUtilization"] {
  const { totalGiB, floorGiB, sumGiB } = machine;
  return Object.fromEntries(
    shares.flatMap((share) => {
      const { name } = share;
      const fits = largest[name];
      if (fits === undefined) return [];
      const most = Math.min(fits.bySum, fits.byAggregate);
      const of = (utilization: number) =>
        linesOf({ ...share, utilization }, totalGiB).reduce((sum, { gib }) => sum + gib, 0);
      const beside = sumGiB - of(share.utilization);
      let keepingFloor = most;
      while (
        keepingFloor > 0 &&
        hundredths(totalGiB - hundredths(beside + of(keepingFloor))) < floorGiB
      )
        keepingFloor = downToHundredth(keepingFloor - 0.01);
      return [[name, keepingFloor < most ? { ...fits, keepingFloor } : fits]];
    }),
  );
}

/**
 * Returns the largest share, in hundredths, whose line fits into what is free. The line is rounded
 * to 0.01 GiB, as the sum is.
 */
function largestWithin(freeGiB: number, totalGiB: number): number {
  const share = shareWithin(freeGiB, totalGiB);
  const next = downToHundredth(share + 0.01);
  return hundredths(next * totalGiB) <= hundredths(freeGiB) ? next : share;
}

/** What the machine has left, in GiB; negative where it lacks something. */
export const leftGiB = ({ totalGiB, sumGiB }: Pick<MemoryLedger, "totalGiB" | "sumGiB">): number =>
  hundredths(hundredths(totalGiB) - sumGiB);

/** Whether the plan fits: its memory, and the shares of all servers. */
export const fitsMachine = (ledger: MemoryLedger): boolean =>
  leftGiB(ledger) >= 0 && ledger.aggregateUtilization <= AGGREGATE_LIMIT;

/** The most that vLLM takes beside weights and KV cache (llamastash measured 5.4 to 6.7 GiB). */
export const ENGINE_OVERHEAD_GIB = 6.7;
