import type { adviseShare } from "../../components/memory";
import { demandOf } from "../../vllm/argv/memoryDemand";
import { knownMaps, text } from "../../vllm/argv/unknown";
import {
  AGGREGATE_CAUTION,
  shareText,
  tenThousandths,
  utilizationText,
} from "../../vllm/utilization";
import type { DeclaredResource } from "./container";
import { declaredServers } from "./inferenceServer";
import type { LargestShare } from "./largestShares";

const CAUTION = `Above ${shareText(tenThousandths(AGGREGATE_CAUTION))} for all servers the plan warns`;

/** What a server needs to start, behind "it needs": at best, and in the worst known case. */
export function shareToStart(needs: LargestShare["needs"] = {}): string {
  const { leastUtilization: least = 0, sureUtilization: sure = 0 } = needs;
  const surely = sure > least ? `, and ${utilizationText(sure)} to be sure of it` : "";
  return `at least ${utilizationText(least)} to start${surely}`;
}

/** What the plan warns about with an advised share, as a sentence behind others; else empty. */
export function warnedText(
  { name, needs }: LargestShare,
  { value, most, warns }: ReturnType<typeof adviseShare>,
): string {
  if (warns === "floor")
    return ` No share with which ${name} starts leaves the memory floor (\`memoryFloorGiB\`), so the plan warns.`;
  if (value < most) return ` ${CAUTION}.`;
  if (warns === "nothing" || needs.leastUtilization === undefined) return "";
  // Without a plan of its KV cache nobody knows how little is enough.
  const noOther = needs.windowGiB === undefined ? "" : `, but with less ${name} may not start`;
  return ` ${CAUTION}${noOther}.`;
}

/** The share that a machine component's server has now; 1 where it can't be read. */
export function shareNow(machine: DeclaredResource, name: string): number {
  const server = knownMaps(machine.props.servers).find((each) => text(each.name) === name);
  const [args] = server === undefined ? [] : declaredServers(server);
  const demand = args && demandOf(args, { adaptersCounted: true });
  return demand?.known ? demand.memory.utilization : 1;
}
