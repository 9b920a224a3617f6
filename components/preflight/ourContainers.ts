import type { MachinePlan } from "../plan";
import { LABEL } from "../planned";

type Ours = Pick<MachinePlan, "name" | "network" | "containers">;

/**
 * The filters of `docker ps` that find our containers of a machine: by our label in our network. A
 * renamed server still holds its old name's memory and port, and another stack's server of the same
 * machine name is not ours to count.
 */
export const oursOn = ({ name, network, containers }: Ours): readonly string[] => [
  `label=${LABEL.machine}=${name}`,
  // A rank uses the machine's own network. A container in any of these networks counts.
  ...[...new Set([network, ...containers.map((each) => each.network)])].map(
    (each) => `network=${each}`,
  ),
];
