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
      "Models on demand are unproven here: nobody has measured what starts and stops leave in this machine's memory, and after about 35 failed ones a DGX Spark is said to have hung (eugr/spark-vllm-docker, #257). `serving bench --swaps 20` measures it, and prints what to record as `onDemand.measuredSwaps`.";
    return [{ machine, code: "on-demand-unproven", message }];
  }
  const { swaps, lostGiB, at } = measuredSwaps;
  if (lostGiB < LEAST_LOST_GIB) return [];
  const message = `${swaps} starts and stops left ${lostGiB.toFixed(1)} GiB less available (${at}): what is lost comes back with a reboot at the latest. Keep servers longer (\`idleMinutes\`), or let fewer of them start on request.`;
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
  const message = `Of ${names} not all run together, and llama-swap stops none that is answering: whoever asks for another one waits until nobody asks for that one any more, however long. Nor is there a shortest stay: two clients that ask for two of them in turn pay a start each time. Use them one after the other, by the hour.`;
  return [{ machine, code: "on-demand-turns", message }];
}
