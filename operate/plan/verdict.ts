import { unweighedText } from "../../components/model-name";
import { type MachinePlan, serversOn } from "../../components/plan";
import { capital } from "../../faults/quoting";
import type { Judged } from "../../policies/judge";
import { graveWarnings } from "./memoryText";

/** Whether it would be applied, and what nobody could judge. */
export function verdictOf(machines: readonly MachinePlan[], policies: readonly Judged[]): string {
  const refusedBy = policies.filter((each) => each.verdict === "refused").map((each) => each.name);
  const grave = machines.flatMap(graveWarnings);
  const open = unjudged(machines);
  if (refusedBy.length > 0)
    return `REFUSED by ${[...new Set(refusedBy)].join(", ")}: \`up\` would stop before the first change.${open}`;
  return grave.length === 0
    ? open === ""
      ? FINE
      : `${NOT_JUDGED}${open}`
    : `Nothing is refused, BUT ${grave.join(", and ")}.${open}`;
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
