import { capital } from "@local-serving/base/faults/quoting";
import { unweighedText } from "../../components/memory/model-name";
import type { MachinePlan } from "../../components/plan";
import { serversOn } from "../../components/planned";
import type { Judged } from "../../policies/judge";
import { graveWarnings } from "./memoryText";

/** Whether it would be applied, and what nobody could judge. */
export function verdictOf(machines: readonly MachinePlan[], policies: readonly Judged[]): string {
  const open = unjudged(machines);
  const verdict = refusalOrDoubt(machines, policies);
  return `${verdict ?? (open === "" ? FINE : NOT_JUDGED)}${open}`;
}

/** What refuses it, or what should still not be started; `undefined` where nothing is found. */
export function refusalOrDoubt(
  machines: readonly MachinePlan[],
  policies: readonly Judged[],
): string | undefined {
  const refusedBy = policies.filter((each) => each.verdict === "refused").map((each) => each.name);
  const grave = machines.flatMap(graveWarnings);
  if (refusedBy.length > 0)
    return `REFUSED by ${[...new Set(refusedBy)].join(", ")}: \`up\` would stop before the first change.`;
  return grave.length === 0 ? undefined : `Nothing is refused, BUT ${grave.join(", and ")}.`;
}

/** Says of each model that nobody could weigh it, behind another sentence. */
function unjudged(machines: readonly MachinePlan[]): string {
  const models = machines.flatMap((machine) =>
    serversOn(machine).flatMap(({ container, serve }) =>
      machine.starts[container.name]?.unweighed === true ? [serve.model] : [],
    ),
  );
  const said = [...new Set(models)].map((model) => ` ${capital(unweighedText(model))}`);
  return said.join("");
}

const NOT_JUDGED = "Nothing is refused, but a start is not judged.";

export const FINE = "Nothing is refused.";
