import type { MachinePlan } from "../../components/plan/types";
import { isHere } from "../../components/planned/reach";

/** Address of a port of this machine as this program reaches it, or why it can't. */
export function originOf(
  machine: MachinePlan,
  address: string,
  port: number,
): { readonly url: string } | { readonly unreachable: string } {
  const everywhere = address === "0.0.0.0";
  if (isHere(machine)) return { url: `http://${everywhere ? "127.0.0.1" : address}:${port}` };
  if (address.startsWith("127.")) {
    return {
      unreachable: `it is published on loopback of ${machine.name}: run this command there, or use --base-url through a tunnel`,
    };
  }
  return { url: `http://${everywhere ? new URL(machine.dockerHost).hostname : address}:${port}` };
}
