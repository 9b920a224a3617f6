import { defined } from "@local-serving/base/faults/defined";
import { isHubId } from "../../components/catalogue";
import type { Evidence } from "../../components/planned";
import { USUAL_CLIENTS } from "../init/command/clients";
import { commandServer } from "../init/command/fromCommand";
import type { RefusedImage } from "../init/command/image";
import type { CommandNotes } from "../init/command/notes";
import { draftEvidence, plannedDraft, readDraft } from "../init/draft";
import { calledBy, givenText } from "../init/from/given";
import { readPublished } from "../init/from/published";
import type { Place } from "../init/offers";
import type { Wanted } from "../init/settings";
import { type Fit, fitModel } from "../models/fit";
import { chooseModel, onlyAtHub } from "../models/ownModel";
import type { HostFacts } from "../sees/computer/facts";

/** What somebody asks about: a server that a stack file would have. */
export interface Asked {
  readonly model: string;
  /** What the stack file would be made of. */
  readonly wanted: Wanted;
  /** What was read of a model that the catalogue lacks. */
  readonly models?: NonNullable<Evidence["models"]>;
  /** Why nothing was read of it. */
  readonly unread?: string;
  /** What its operator has to decide or to see to first, a sentence each. */
  readonly lacks?: readonly string[];
  /** What became of a command. */
  readonly told?: CommandNotes;
  /** Why no machine here runs its image. */
  readonly refused?: readonly RefusedImage[];
}

/** A model of which no server can be planned on a machine, and why. */
export type NoServer = Pick<Fit, "recipe" | "reasons" | "lacksMachines" | "missingGiB">;

/**
 * The server that is asked about: of a command or recipe in a file, on stdin (`-`) or given itself,
 * or of a model by its name. Throws `WrongUse` or `UnreadableInput` for what can't be read.
 */
export async function askedServer(
  given: string,
  facts: HostFacts,
  place: Place,
): Promise<Asked | NoServer> {
  const published = await givenText(given, "stdin");
  const base: Wanted = { name: place.name, clients: [] };
  if (published === undefined) return namedModel(given, facts, base, place);
  const { server, model, told, refused, lacks } = await calledBy(published.source, () =>
    commandServer(readPublished(published), facts, { ...base, clients: USUAL_CLIENTS }, place),
  );
  // What clients need is told; they change nothing of the start.
  const wanted = { ...base, ...server, clients: [] };
  return {
    model,
    wanted,
    told,
    refused,
    lacks,
    ...defined({ unread: unreadText(model, facts, wanted, place) }),
  };
}

/** Says of a model that neither the catalogue nor this computer's model cache has it. */
function unreadText(id: string, facts: HostFacts, wanted: Wanted, { home }: Place) {
  const settings = readDraft(facts, wanted);
  const { models = {} } = draftEvidence(settings, home);
  return models[id] === undefined && isHubId(id) ? onlyAtHub(id) : undefined;
}

/** The server that `models use` would write for a model. */
async function namedModel(
  name: string,
  facts: HostFacts,
  base: Wanted,
  { project, home }: Place,
): Promise<Asked | NoServer> {
  const { settings, machine } = plannedDraft(facts, base, home);
  const own = settings.machines[machine.name];
  if (own === undefined) throw new Error("a draft of one machine has it");
  const bare = { settings, machine: machine.name, server: "b", project, leaves: [] };
  const { recipe, seat, unread, lacks } = await chooseModel(
    { settings: own, withoutHub: true },
    bare,
    name,
  );
  const fit = fitModel(recipe, seat);
  if (fit.values.length === 0)
    return lacks === undefined ? fit : { ...fit, reasons: [...fit.reasons, ...lacks] };
  const image = fit.image === undefined ? {} : { image: { image: fit.image } };
  return {
    model: recipe.id,
    wanted: { ...base, server: fit.values, ...image },
    ...defined({ models: seat.own?.evidence, unread, lacks }),
  };
}
