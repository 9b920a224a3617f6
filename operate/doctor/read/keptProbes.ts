import type { ContainerState } from "../../containers/readContainers";
import { type KeptResult, lastVerify, type Verified } from "../../verify/lastVerify";
import type { Probe } from "../evidence";

/** Hours after which a result says nothing of today. */
const FRESH_HOURS = 24;

export interface KeptProbes {
  readonly probes?: readonly Probe[];
  readonly notes: readonly string[];
}

/** Results of the last `serving verify` that are about what runs now: newer than every container's start, and of today. */
export async function keptProbes(
  verified: Verified,
  containers: readonly ContainerState[],
  now = new Date(),
): Promise<KeptProbes> {
  const kept = await lastVerify(verified);
  const oldest = Math.max(
    now.getTime() - FRESH_HOURS * 3_600_000,
    ...containers.map(({ startedAt }) => Date.parse(startedAt)).filter((time) => !Number.isNaN(time)),
  );
  const isFresh = ({ at }: KeptResult) => Date.parse(at) > oldest;
  const fresh = kept.filter(isFresh);
  const stale = kept.filter((each) => each.status === "fail" && !isFresh(each));
  return {
    ...(fresh.length === 0 ? {} : { probes: fresh }),
    notes:
      stale.length === 0
        ? []
        : [
            `Of the last \`serving verify\` these are older than what runs now and were not used: ${stale.map(({ name }) => name).join(", ")}.`,
          ],
  };
}
