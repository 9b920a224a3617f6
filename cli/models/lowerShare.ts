import { downToHundredth, utilizationText } from "@local-serving/vllm/utilization";
import { leastBeforeKv, leftGiB, startVerdictOf } from "../../components/memory";
import type { StackSettings } from "../../components/settings";
import { type Fit, fitModel, planInSeat, withModel } from "./fit";
import type { Seat } from "./seat";

/** A lower share of a server, which leaves another model what it needs. */
export interface LoweredShare {
  /** Key in `inferenceServers`; `null` for instance A. */
  readonly server: string | null;
  readonly from: number;
  /** 0 where instance A has to stop. */
  readonly to: number;
}

/**
 * The servers of the seat's machine that can give a model what it lacks, each by itself: the model
 * plans then, and they still start. First the whole of what it needs is tried, then the least, and
 * last a machine without instance A.
 */
export function sharesToLower(found: Fit, seat: Seat): LoweredShare[] {
  const { lacks } = found;
  if (lacks === undefined) return [];
  return sharesOf(seat).flatMap(({ server, share: from }) => {
    const [enough] = [lacks.needed, lacks.least]
      .map((wanted) => downToHundredth(from - wanted + lacks.left))
      .filter((to) => to > 0)
      .concat(server === null ? [0] : [])
      .map((to) => ({ server, from, to }))
      .filter((lowered) => helps(found, seat, lowered));
    return enough ?? [];
  });
}

/** The advice in words. */
export const lowerText = ({ server, from, to }: LoweredShare): string => {
  if (to === 0) return "stop instance A (`instanceA: none`)";
  const [was, then] = [from, to].map(utilizationText);
  return server === null
    ? `lower instance A from ${was} to ${then}, where it is started and in \`instanceA\``
    : `lower \`gpuMemoryUtilization\` of ${server} from ${was} to ${then}`;
};

/** The other servers of the seat's machine: ours, the largest share first, then instance A. */
function sharesOf({ settings, machine, server: own }: Seat) {
  const { instanceA = "none", inferenceServers = {} } = settings.machines[machine] ?? {};
  const ours = Object.entries(inferenceServers)
    .filter(([key]) => key !== own)
    .map(([server, { gpuMemoryUtilization: share }]) => ({ server, share }))
    .sort((a, b) => b.share - a.share);
  return instanceA === "none"
    ? ours
    : [...ours, { server: null, share: instanceA.gpuMemoryUtilization }];
}

/** Whether the model plans beside the lowered server within the memory, and that one still starts. */
function helps({ recipe }: Fit, seat: Seat, lowered: LoweredShare): boolean {
  if (!holdsWeights(seat, lowered)) return false;
  const there = { ...seat, settings: withShare(seat, lowered) };
  const { verdict, values } = fitModel(recipe, there);
  if (verdict === "no") return false;
  const planned = planInSeat(withModel(there, values), there);
  const machine = planned.machines.find(({ name }) => name === seat.machine);
  if (machine !== undefined && leftGiB(machine.ledger) < 0) return false;
  const container = machine?.inferenceServers.find(({ key }) => key === lowered.server)?.container;
  const kv = container && machine?.kv[container.name];
  return kv == null || startVerdictOf(kv) !== "cannot start";
}

/** Whether an instance A whose weights are declared still loads them. */
function holdsWeights({ settings, machine }: Seat, { server, to }: LoweredShare): boolean {
  const { instanceA = "none", totalGiB = 0 } = settings.machines[machine] ?? {};
  if (server !== null || instanceA === "none" || instanceA.weightsGB === undefined) return true;
  return to === 0 || to * totalGiB > leastBeforeKv(instanceA.weightsGB);
}

/** The stack's settings with the lower share. */
function withShare({ settings, machine: name }: Seat, { server, to }: LoweredShare): StackSettings {
  const machines = structuredClone(settings.machines);
  const machine = machines[name];
  const block = server === null ? machine?.instanceA : machine?.inferenceServers[server];
  if (typeof block === "object") Object.assign(block, { gpuMemoryUtilization: to });
  if (machine !== undefined && to === 0) Object.assign(machine, { instanceA: "none" });
  return { ...settings, machines };
}
