import { hanging, titled, type Width } from "@local-serving/base/commandLine/layout";
import { listOf } from "@local-serving/base/faults/quoting";
import { duration } from "@local-serving/base/units/duration";
import { mayRun, setsWith } from "../../components/memory/together";
import type { MachinePlan } from "../../components/plan";
import type { KeptStart } from "../verify/keptStarts";

const HEADS = ["", "takes", "runs beside", "not beside"];

/**
 * Which servers of a machine run together and which don't, and how long a start by llama-swap took
 * here; nothing where none starts on request.
 */
export function togetherText(
  { together, containers, onDemand }: MachinePlan,
  keptStart: KeptStart,
  width: Width,
): string[] {
  if (together === undefined) return [];
  const { totalGiB, beside, servers, sets } = together;
  const rows = servers.map(({ key, container, takenGiB }) => {
    const within = setsWith(sets, key);
    const apart = servers.filter((each) => !mayRun(sets, key, each.key));
    const others = within.map((set) => listOf(set.filter((each) => each !== key)));
    const planned = containers.find(({ name }) => name === container);
    const took = planned && keptStart(planned);
    return [
      key,
      `${takenGiB.toFixed(2)} GiB`,
      within.length === 0 ? "never fits" : others.join("; or "),
      within.length === 0 ? "" : listOf(apart.map((each) => each.key)),
      ...(onDemand === undefined ? [] : [took === undefined ? "not measured" : duration(took)]),
    ];
  });
  const left = totalGiB - beside.takenGiB;
  const room =
    left > 0
      ? `in the ${left.toFixed(2)} GiB left beside what always runs`
      : "and what always runs leaves nothing for it";
  const title = hanging(`Started on request, ${room}`, 2, width);
  const heads = onDemand === undefined ? HEADS : [...HEADS, "its start took"];
  return titled(title, [heads, ...rows], width);
}
