import { readCatalogue } from "../../components/catalogue";
import { CLIENTS, type ClientKey } from "../../components/clients";
import { defined } from "../../faults/defined";
import { AGGREGATE_LIMIT } from "../../vllm/utilization";
import type { HostFacts } from "../sees/computer/facts";
import { draft } from "./draft";
import { toMend } from "./found";
import { type Offer, offerBesideLowered, offers, type Place } from "./offers";
import { type Ask, askClients, askModel, askNetwork } from "./questions";
import { shareOfA, type Wanted } from "./settings";

/** Given to a machine on which no coding client was found. */
const USUAL_CLIENTS: readonly ClientKey[] = ["claudeCode", "codex"];

/**
 * Chooses what the stack file declares, by a person's answers where there is somebody to ask, and
 * writes its text.
 */
export async function choose(facts: HostFacts, place: Place, ask?: Ask) {
  const { name, home } = place;
  const onPath = CLIENTS.filter(
    (client) => "program" in client && facts.clients.includes(client.program.name),
  ).map(({ key }) => key);
  const base: Wanted = {
    name,
    clients: [...(onPath.length > 0 ? onPath : USUAL_CLIENTS), "clientEnv"],
  };
  const { offer, lowerA, none = [] } = await chooseServer(facts, base, place, ask);
  const wanted: Wanted = {
    ...base,
    ...defined({ server: offer?.server, lowerA }),
    ...(ask && {
      ...defined({ network: await askNetwork(ask, `${facts.host}.local`) }),
      clients: await askClients(ask, base.clients),
    }),
  };
  const { findings } = draft(facts, wanted, home);
  /** What to mend before `up`, a sentence each. */
  const mend = [...toMend(facts, offer), ...none, ...findings.map(({ message }) => message)];
  /** Hub id of server B's model; `null` without a B. */
  const model = offer?.id ?? null;
  return { ...draft(facts, wanted, home, mend), wanted, model, mend };
}

interface Chosen {
  readonly offer?: Offer | undefined;
  readonly lowerA?: number;
  /** Why there is no server B, where nobody chose that. */
  readonly none?: readonly string[];
}

/**
 * Server B. Where none fits beside instance A, that stays as it runs, unless it takes more than any
 * plan may hold.
 */
async function chooseServer(
  facts: HostFacts,
  base: Wanted,
  place: Place,
  ask?: Ask,
): Promise<Chosen> {
  const recipes = readCatalogue(place.project);
  const fitting = () => offers(facts, base, recipes, place);
  const [best] = fitting();
  if (best !== undefined) return { offer: ask ? await askModel(ask, [...fitting()]) : best };
  const [a] = facts.servers;
  const { totalGiB, availableGiB } = facts.memory;
  if (a === undefined) {
    const none = `No model of the catalogue fits into ${totalGiB} GiB of memory, of which ${availableGiB} were available: there is no server B.`;
    return { none: [none] };
  }
  const runs = shareOfA(a, facts.memory);
  const lowered = offerBesideLowered(facts, base, recipes, place);
  if (runs > AGGREGATE_LIMIT) return { offer: lowered, lowerA: lowered?.lowerA ?? AGGREGATE_LIMIT };
  const where = a.runsIn === undefined ? "where you start it" : `in ${a.runsIn}`;
  const remedy =
    lowered === undefined
      ? "Stop it, or free memory; then remove this file and run `serving init` again."
      : `Lower its --gpu-memory-utilization ${where} to ${lowered.lowerA}, restart it, remove this file and run \`serving init\` again: then ${lowered.id} fits.`;
  const none = `No model fits beside instance A, which takes ${runs} of the memory: there is no server B.`;
  return { none: [`${none} ${remedy}`] };
}
