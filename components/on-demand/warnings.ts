import { listOf } from "../../faults/quoting";
import type { Warning } from "../planned/facts";
import type { OnDemandAround, OnDemandPlan } from "./onDemandPlan";

/** What of a machine's plan they are found in. */
interface Warned {
  readonly onDemand?: OnDemandPlan;
  readonly together?: OnDemandAround["together"];
}

/** Loss of memory over a measurement from which it counts as one, in GiB; below it is noise. */
const LEAST_LOST_GIB = 1;

/** What an operator should know of llama-swap before it runs. */
export function onDemandWarnings(machine: string, { onDemand, together }: Warned): Warning[] {
  if (onDemand === undefined) return [];
  return [...memoryLost(machine, onDemand), ...turns(machine, onDemand, together)];
}

/** What starts and stops leave in memory. */
function memoryLost(machine: string, { measuredSwaps }: OnDemandPlan): Warning[] {
  if (measuredSwaps === undefined) {
    const message =
      "Models on demand are unproven here: it wasn't measured how much memory starts and stops leave occupied on this machine, and a DGX Spark was reported to hang after about 35 failed starts (eugr/spark-vllm-docker, #257). Run `serving bench --swaps 20`, which measures it and prints what to record as `onDemand.measuredSwaps`.";
    return [{ machine, code: "on-demand-unproven", message }];
  }
  const { swaps, lostGiB, at } = measuredSwaps;
  if (lostGiB < LEAST_LOST_GIB) return [];
  const message = `${swaps} starts and stops left ${lostGiB.toFixed(1)} GiB less available (${at}). A reboot frees that memory. Keep servers running longer (\`idleMinutes\`), or let fewer of them start on request.`;
  return [{ machine, code: "on-demand-loss", message }];
}

/** What no setting of llama-swap changes, where servers stop for each other. */
function turns(
  machine: string,
  { servers }: OnDemandPlan,
  together: Warned["together"],
): Warning[] {
  if (together === undefined || together.sets.length < 2) return [];
  const names = listOf(servers.map(({ key }) => key));
  const message = `${names} can't all run together, and llama-swap never stops a server that is answering. A request for another server waits until the running one is idle, however long that takes. There is no minimum running time either: two clients that ask for two of them in turn cause a start each time. Use them one after the other, for hours each.`;
  return [{ machine, code: "on-demand-turns", message }];
}
