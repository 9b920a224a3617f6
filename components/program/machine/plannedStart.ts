import { attempt } from "@local-serving/base/faults/defined";
import { demandOf, numberIn } from "@local-serving/vllm/argv/memoryDemand";
import {
  readServerArguments,
  type ServerArguments,
} from "@local-serving/vllm/argv/serverArguments";
import { startVerdictOf } from "../../memory";
import type { MachinePlan } from "../../plan";
import { batchFaults } from "./batchFaults";
import { type Asked, isTooLong, startFault } from "./startFault";

/** Whether a server starts. */
export type StartVerdict = "starts" | "may start" | "cannot start";

/** A machine's plan, as far as it decides about starts. */
type Starts = Pick<MachinePlan, "kv" | "starts"> & {
  readonly ledger: Pick<MachinePlan["ledger"], "totalGiB">;
};

/**
 * Whether a planned server starts: by its KV plan and by all for which it would be refused. Nothing is
 * said where neither tells it.
 */
export function plannedStart(
  machine: Starts,
  { name, command }: MachinePlan["containers"][number],
): StartVerdict | undefined {
  const { [name]: kv } = machine.kv;
  const byCache = kv == null ? undefined : attempt(() => startVerdictOf(kv));
  // A plan that another version applied may lack what is read here.
  const byNeeds = attempt(() => verdictByNeeds(machine, name, readServerArguments(command)));
  const verdicts = [byCache, byNeeds];
  return WORST_FIRST.find((each) => verdicts.includes(each));
}

const WORST_FIRST: readonly StartVerdict[] = ["cannot start", "may start", "starts"];

function verdictByNeeds(
  { starts, ledger: { totalGiB } }: Starts,
  name: string,
  args: ServerArguments,
): StartVerdict | undefined {
  if (batchFaults(args).length > 0) return "cannot start";
  const demand = demandOf(args, { adaptersCounted: true });
  const { [name]: needs } = starts;
  if (!demand.known || needs?.outsideGiB === undefined) return undefined;
  const asked: Asked = { ...demand.memory, window: numberIn(args, "max-model-len") };
  if (isTooLong(asked, needs)) return "cannot start";
  const fault = startFault(asked, needs, totalGiB);
  return fault === undefined ? undefined : fault === "cramped" ? "may start" : "cannot start";
}
