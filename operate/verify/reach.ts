import type { MachinePlan } from "../../components/plan/types";
import { EVERY_ADDRESS, isHere, isLoopback, type Listening, originOf } from "../../components/planned/reach";

/** Address of a port of this machine as this program reaches it, or why it can't. */
export function originFromHere(
  machine: MachinePlan,
  listening: Listening,
): { readonly url: string; readonly unreachable?: never } | { readonly url?: never; readonly unreachable: string } {
  if (isHere(machine)) return { url: originOf(listening) };
  const { address } = listening;
  if (isLoopback(address)) {
    return {
      unreachable: `it is published on loopback of ${machine.name}: run this command there, or use --base-url through a tunnel`,
    };
  }
  return {
    url: originOf(listening, address === EVERY_ADDRESS ? new URL(machine.dockerHost).hostname : address),
  };
}
