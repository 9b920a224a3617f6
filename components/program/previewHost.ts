import { isOverSsh } from "@local-serving/machines/address";
import { engineProblem } from "@local-serving/machines/docker/engine";
import type { MachinePlan } from "../plan";

/**
 * Address that the provider takes without trying it: it only pings hosts that it doesn't reach over
 * ssh. `.invalid` is reserved, so nothing can ever answer there.
 */
const NOWHERE = "ssh://nobody@nowhere.invalid";

/**
 * The Docker host for a preview. If no engine answers, a preview of a new stack is still useful,
 * and one that only creates needs no engine. So it gets a host that nobody asks. An update always
 * gets the real host.
 */
export async function previewHost(
  machine: MachinePlan,
): Promise<{ host: string; reason?: string }> {
  if (isOverSsh(machine)) return { host: machine.dockerHost };
  const reason = await engineProblem(machine);
  return reason === undefined ? { host: machine.dockerHost } : { host: NOWHERE, reason };
}
