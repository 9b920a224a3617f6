import { demandOf } from "@local-serving/vllm/argv/memoryDemand";
import { knownMaps, text } from "@local-serving/vllm/argv/unknown";
import { utilizationText } from "@local-serving/vllm/utilization";
import type { adviseShare } from "../../components/memory";
import type { DeclaredResource } from "./container";
import { declaredServers } from "./inferenceServer";
import type { LargestShare } from "./largestShares";

/** What a server needs to start, behind "it needs": at best, and in the worst known case. */
export function shareToStart(needs: LargestShare["needs"] = {}): string {
  const { leastUtilization: least = 0, sureUtilization: sure = 0 } = needs;
  const surely = sure > least ? `, and ${utilizationText(sure)} to be sure of it` : "";
  return `at least ${utilizationText(least)} to start${surely}`;
}

/** What the plan warns about with an advised share, as a sentence behind others; else empty. */
export function warnedText({ warns }: Pick<ReturnType<typeof adviseShare>, "warns">): string {
  if (warns === "floor")
    return " That doesn't leave the memory floor (`memoryFloorGiB`), so the plan warns.";
  return warns === "caution" ? " The plan still warns of the sum of the shares." : "";
}

/** The share that a machine component's server has now; 1 where it can't be read. */
export function shareNow(machine: DeclaredResource, name: string): number {
  const server = knownMaps(machine.props.servers).find((each) => text(each.name) === name);
  const [args] = server === undefined ? [] : declaredServers(server);
  const demand = args && demandOf(args, { adaptersCounted: true });
  return demand?.known ? demand.memory.utilization : 1;
}
