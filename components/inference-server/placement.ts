import { FEATURES } from "../features";
import type { Placement } from "../features/kind";
import type { InferenceServerSettings, MachineSettings } from "../settings";

/** A server, and the machine on which a container of it is placed. */
interface Placed {
  readonly machineName: string;
  readonly machine: MachineSettings;
  readonly server: InferenceServerSettings;
}

/**
 * How a server stands on a machine: as a feature has it, else alone.
 * @param name of its container where it runs alone
 */
export function placementOf(
  { machineName, machine, server }: Placed,
  name: string,
  machines: Readonly<Record<string, MachineSettings>>,
): Placement {
  const placing = { machine: machineName, server, container: name, machines };
  const [placed] = FEATURES.flatMap((each) => each.place(placing) ?? []);
  return placed ?? alone(name, server.listen, machine.network);
}

/** A server that runs on one machine alone, on a network of Docker's. */
const alone = (container: string, listen: string, network: string): Placement => ({
  container,
  flags: {},
  firstFlags: {},
  arguments: [],
  defaults: {},
  reach: { address: listen },
  publishes: true,
  isolation: { ipc: "host", network },
  sealed: () => ({ variables: {}, detail: {} }),
});
