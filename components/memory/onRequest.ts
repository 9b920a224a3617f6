import { defined } from "@local-serving/base/faults/defined";
import { hundredths } from "@local-serving/base/units/memory";
import type { LedgerLine } from "../planned";
import type { MachineSettings } from "../settings";
import { addedBy, type MemoryLedger, type MemoryShare } from "./ledger";
import { largestOf, type Together, together } from "./together";

/** A server of ours, and whether it starts on request. */
interface Share {
  readonly key: string;
  readonly onRequest: boolean;
  readonly share: MemoryShare;
}

/** The memory of a machine some of whose servers start on request. */
interface OnRequestMemory {
  readonly ledger: MemoryLedger;
  readonly together: Together;
  /** The lines of servers that the ledger leaves out, since they don't run with those in it. */
  readonly apart: readonly LedgerLine[];
}

/**
 * Adds the largest set of servers that start on request to what always runs. What fits of each of
 * the others is found beside what always runs alone. `withOthers` adds some servers up with what
 * always runs.
 */
export function withOnRequest(
  { totalGiB, memoryFloorGiB: floorGiB }: MachineSettings,
  shares: readonly Share[],
  withOthers: (some: readonly MemoryShare[]) => MemoryLedger,
): OnRequestMemory {
  const always = withOthers([]);
  const certain = always.lines.filter(({ basis }) => basis !== "default");
  const added = shares
    .filter(({ onRequest }) => onRequest)
    .map(({ key, share }) => ({ key, share, ...addedBy(share, totalGiB) }));
  const found = together({
    totalGiB,
    floorGiB,
    beside: {
      takenGiB: always.sumGiB,
      certainGiB: hundredths(certain.reduce((sum, { gib }) => sum + gib, 0)),
      utilization: always.aggregateUtilization,
    },
    servers: added.map(({ key, share, takenGiB, certainGiB, compilingGiB, utilization }) => ({
      key,
      container: share.name,
      takenGiB,
      certainGiB,
      compilingGiB,
      utilization,
      ...defined({ adaptersGiB: share.adapters?.gib }),
    })),
  });
  const largest = largestOf(found);
  const within = added.filter(({ key }) => largest.includes(key));
  const whole = withOthers(within.map(({ share }) => share));
  const known = [...added.map(({ share }) => withOthers([share])), whole];
  const names = shares.map(({ share }) => share.name);
  return {
    ledger: withFiguresOf(whole, known, names),
    together: found,
    apart: added.filter((each) => !within.includes(each)).flatMap(({ lines }) => lines),
  };
}

/**
 * A ledger with what fits of every server of ours, in the order of the stack file. The last of the
 * known ledgers that has a server counts.
 */
function withFiguresOf(
  whole: MemoryLedger,
  known: readonly MemoryLedger[],
  names: readonly string[],
): MemoryLedger {
  const ofEach = <Value>(figures: (ledger: MemoryLedger) => Readonly<Record<string, Value>>) => {
    const all = new Map(known.flatMap((each) => Object.entries(figures(each))));
    return Object.fromEntries(
      names.flatMap((name) => {
        const value = all.get(name);
        return value === undefined ? [] : [[name, value] as const];
      }),
    );
  };
  const fixedKvCache = ofEach(({ fixedKvCache: fixed = {} }) => fixed);
  return {
    ...whole,
    largestUtilizationThatFits: ofEach((each) => each.largestUtilizationThatFits),
    largestUtilization: ofEach((each) => each.largestUtilization),
    ...(Object.keys(fixedKvCache).length === 0 ? {} : { fixedKvCache }),
  };
}
