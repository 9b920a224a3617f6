import type { MachinePlan } from "../../components/plan";
import type { Host } from "../sees/host";

/** What every target has. */
export interface Common {
  /** As results name it: a container's name, or words such as `instance A`. */
  readonly name: string;
  readonly machine: MachinePlan;
  readonly host: Host;
  /** Why it can't be asked from here. */
  readonly unreachable?: string | undefined;
  /**
   * NAMES of the variables with keys that its requests carry, beyond those of the machine's secret
   * files.
   */
  readonly keyVariables?: readonly string[];
  /** Keys that were read elsewhere. */
  readonly keys?: readonly string[];
}
