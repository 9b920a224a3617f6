import {
  AGGREGATE_CAUTION,
  LIMIT_ABOVE_CAUTION,
  shareText,
  tenThousandths,
  utilizationText,
} from "../../vllm/utilization";
import type { LargestShare } from "./largestShares";

/** The share to write for a server that is refused, in ten-thousandths. */
interface AdvisedShare {
  /** The largest that fits and, if the server starts with one, that leaves the memory floor. */
  readonly most: number;
  /** The largest that the plan doesn't warn about either, else `most`. */
  readonly value: number;
  /** What the plan warns about, as a sentence behind others; empty where nothing is known of it. */
  readonly warns: string;
}

const CAUTION = `Above ${shareText(tenThousandths(AGGREGATE_CAUTION))} for all servers the plan warns`;

/** What a server needs to start, behind "it needs": at best, and in the worst known case. */
export function shareToStart(needs: LargestShare["needs"] = {}): string {
  const { leastUtilization: least = 0, sureUtilization: sure = 0 } = needs;
  const surely = sure > least ? `, and ${utilizationText(sure)} to be sure of it` : "";
  return `at least ${utilizationText(least)} to start${surely}`;
}

/** The share to advise where `fits` is the largest that isn't refused. */
export function advisedShare(share: LargestShare, fits: number): AdvisedShare {
  const { name, needs, keepingFloor, byAggregate } = share;
  const { leastUtilization, unwarnedUtilization } = needs;
  const starts = (value: number) => value > 0 && value >= tenThousandths(leastUtilization ?? 0);
  const keeping = Math.min(fits, tenThousandths(keepingFloor ?? Number.POSITIVE_INFINITY));
  if (!starts(keeping)) {
    const noFloor = ` No share with which ${name} starts leaves the memory floor (\`memoryFloorGiB\`), so the plan warns.`;
    return { most: fits, value: fits, warns: starts(fits) ? noFloor : "" };
  }
  const calm = Math.min(keeping, tenThousandths(unwarnedUtilization ?? 0));
  if (calm > 0) return { most: keeping, value: calm, warns: calm < keeping ? ` ${CAUTION}.` : "" };
  const isWarned = keeping > tenThousandths(byAggregate) - tenThousandths(LIMIT_ABOVE_CAUTION);
  // Without a plan of its KV cache nobody knows how little is enough.
  const noOther = needs.windowGiB === undefined ? "" : `, but with less ${name} may not start`;
  return {
    most: keeping,
    value: keeping,
    warns: isWarned && leastUtilization !== undefined ? ` ${CAUTION}${noOther}.` : "",
  };
}
