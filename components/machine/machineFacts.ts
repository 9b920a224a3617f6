import { containerArgs } from "../host/containerArgs";
import type { MachinePlan } from "../plan/types";

/**
 * Inputs of the `Machine` component: what a policy needs to judge the whole machine before any of it is touched. The
 * servers are given as their container arguments, so that the argv is judged and not our word for it.
 */
export function machineFacts(machine: MachinePlan) {
  return {
    machine: machine.name,
    totalGiB: machine.ledger.totalGiB,
    hostInstance: machine.hostInstance,
    servers: machine.inferenceServers.map(({ container }) => {
      const args = containerArgs(container);
      return {
        name: args.name,
        image: args.image,
        entrypoints: args.entrypoints ?? [],
        command: args.command,
      };
    }),
  };
}
