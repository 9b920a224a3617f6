import { defined } from "@local-serving/base/faults/defined";
import { objectOr } from "@local-serving/base/faults/json";
import { parse } from "yaml";
import type { PlannedFile } from "../../planned";
import type { OnDemandPlan } from "./onDemandPlan";

/** What of a machine's plan says what its llama-swap is. */
export interface PlannedMachine {
  readonly name: string;
  readonly onDemand?: OnDemandPlan;
  readonly files: readonly PlannedFile[];
}

/** Inputs of the `OnDemand` component: what policies read of it. */
export interface OnDemandInputs
  extends Pick<
    OnDemandPlan,
    "address" | "port" | "network" | "keyVariable" | "unit" | "program" | "servers"
  > {
  readonly machine: string;
  /** llama-swap's own configuration, as its file says it. */
  readonly config: Readonly<Record<string, unknown>>;
}

/** Returns what the component of a machine's llama-swap is told; `undefined` where it has none. */
export function onDemandInputs({
  name: machine,
  onDemand,
  files,
}: PlannedMachine): OnDemandInputs | undefined {
  if (onDemand === undefined) return undefined;
  const { address, port, network, keyVariable, unit, program, servers } = onDemand;
  const config = files.find(({ role }) => role === "on-demand-config")?.text ?? "";
  return {
    machine,
    address,
    port,
    unit,
    program,
    servers,
    ...defined({ network, keyVariable }),
    config: objectOr(parse(config)),
  };
}
