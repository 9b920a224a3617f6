import { plannedDraft } from "../init/draft";
import type { Seat } from "../models/seat";
import { projectOrProgram } from "../stack/stackFile";
import { factsOfMachine } from "./machines";

/**
 * The seat of a model on a machine that runs nothing else: what a stack file of `serving init` would
 * have there. `named`: a machine as `serving fit` has it; a DGX Spark where none is named.
 */
export function bareSeat(named = "spark"): { readonly seat: Seat; readonly told: string } {
  const facts = factsOfMachine(named);
  const { settings, machine } = plannedDraft(facts, { name: facts.host, clients: [] });
  const seat = { settings, machine: machine.name, server: "b", project: projectOrProgram() };
  return {
    seat: { ...seat, leaves: [] },
    told: `There is no stack file to compare with: models are judged for a machine \`${machine.name}\` (${machine.ledger.totalGiB} GiB) that runs nothing else; \`--machine\` names another, and \`serving init\` writes the file of yours.`,
  };
}
