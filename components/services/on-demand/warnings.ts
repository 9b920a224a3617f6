import { listOf } from "@local-serving/base/faults/quoting";
import type { Warning } from "../../planned";
import type { OnDemandAround, OnDemandPlan } from "./onDemandPlan";

/** What of a machine's plan they are found in. */
interface Warned {
  readonly onDemand?: OnDemandPlan;
  readonly together?: OnDemandAround["together"];
}

/**
 * What an operator should know of llama-swap before it runs: what no setting of it changes, where
 * servers stop for each other.
 */
export function onDemandWarnings(machine: string, { onDemand, together }: Warned): Warning[] {
  if (onDemand === undefined || together === undefined || together.sets.length < 2) return [];
  const names = listOf(onDemand.servers.map(({ key }) => key));
  const message = `${names} can't all run together: requests wait for each other. llama-swap never stops a server that is answering, so a request for another one waits until the running one is idle, however long that takes. There is no minimum running time either: two clients that ask for two of them in turn cause a start each time. Use them one after the other, for hours each.`;
  return [{ machine, code: "on-demand-turns", message }];
}
