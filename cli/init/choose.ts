import { defined } from "@local-serving/base/faults/defined";
import { whyNoServer } from "@local-serving/machines/devices/devices";
import { recognise } from "@local-serving/machines/devices/recognise";
import { AGGREGATE_LIMIT } from "@local-serving/vllm/utilization";
import { readCatalogue } from "../../components/catalogue";
import { CLIENTS } from "../../components/clients";
import { mostWanted } from "../models/mostWanted";
import type { HostFacts, HostServer } from "../sees/computer/facts";
import { type Unfit, USUAL_CLIENTS } from "./command/clients";
import type { CommandServer } from "./command/fromCommand";
import { refuseCommand } from "./command/words";
import { gpuTakers, systemGiB, UNEXPLAINED_GIB } from "./counted";
import { draft } from "./draft";
import { toMend, unexplainedMemory } from "./found";
import { type AskRegistry, pinnedServers } from "./from/pinnedServers";
import { readServers } from "./from/published";
import type { Published } from "./from/source";
import { type Offer, offerBesideLowered, offers, type Place } from "./offers";
import {
  type Ask,
  askAdministrator,
  askClients,
  askModel,
  askNetwork,
  askSystem,
  askTaker,
} from "./questions";
import { shareOfA, type Wanted } from "./settings";

/** Where a stack file's answers come from, beside the facts. */
export interface Answers {
  /** A person at the terminal. */
  readonly ask?: Ask;
  /** A published command that server B is to run. */
  readonly command?: Published;
  /** Asks registries for the digests of images that name none. */
  readonly askRegistry?: AskRegistry;
  /** Whether each server is wanted of a text that starts one or another. */
  readonly all?: boolean;
}

/**
 * Chooses what the stack file declares, by a command or a person's answers where there are any, and
 * writes its text.
 */
export async function choose(given: HostFacts, place: Place, answers: Answers = {}) {
  const { ask, command } = answers;
  const facts = recognised(given);
  if (command !== undefined) refuseWithoutServer(facts);
  const { name, home } = place;
  const onPath = CLIENTS.filter(
    (client) => "program" in client && facts.clients.includes(client.program.name),
  ).map(({ key }) => key);
  const base: Wanted = {
    name,
    clients: [...(onPath.length > 0 ? onPath : USUAL_CLIENTS), "clientEnv"],
    ...(ask && (await counted(facts, ask))),
  };
  const chosen =
    command === undefined
      ? await chooseServer(facts, base, place, ask)
      : await commanded(
          { command, all: answers.all, ask: answers.askRegistry },
          facts,
          base,
          place,
        );
  const { offer, lowerA, none = [], byCommand } = chosen;
  const known: Wanted = {
    ...base,
    ...defined({ server: offer?.server, lowerA }),
    ...byCommand?.server,
  };
  const wanted: Wanted = {
    ...known,
    ...(ask && (await around(facts, known, ask, byCommand?.unfit))),
  };
  const { findings, lasting, doubts } = draft(facts, wanted, home);
  /** What to mend before `up`, a sentence each. */
  const mend = [
    ...(byCommand?.mend ?? []),
    ...toMend(facts, offer),
    ...none,
    ...(wanted.systemGiB === undefined ? unexplainedMemory(facts, wanted) : []),
    ...(byCommand === undefined ? [] : refusedText(lasting, wanted)),
    ...findings.map(({ message }) => message),
  ];
  /** Hub id of server B's model; `null` without a B. */
  const model = byCommand?.model ?? offer?.id ?? null;
  const told = byCommand?.told;
  // What to mend has it where the model was chosen here.
  const open = byCommand === undefined ? [] : doubts;
  const written = draft(facts, wanted, home, mend);
  return { ...written, doubts: open, wanted, model, mend, ...defined({ told }) };
}

/** Rules that the sentence about an image without a digest speaks for. */
const OF_IMAGE: readonly string[] = ["inference-image", "moving-tag"];

/** What the policies refuse in the end, without the lines of a file that isn't written yet. */
function refusedText(
  refused: ReturnType<typeof draft>["lasting"],
  { image }: Pick<Wanted, "image">,
): string[] {
  const isRead = image?.versions !== undefined;
  return refused
    .filter(({ name }) => isRead || !OF_IMAGE.includes(name))
    .map(({ message, line }) => message.replace(`stack file, line ${line}:`, "stack file:"));
}

/** Refuses a command for a machine that can have no server: a file without it is not what was asked for. */
function refuseWithoutServer(facts: HostFacts): void {
  const none = noServer(facts);
  if (none === undefined) return;
  const again =
    none.remedy === undefined ? [] : ["Run this again once `nvidia-smi` shows what the GPU is."];
  refuseCommand(none.why, "Nothing was written.", ...again, OF_ANOTHER);
}

const OF_ANOTHER =
  "If another machine is to serve it, add `--on ssh://USER@HOST`, or `--from FILE` with what `serving init --facts` printed there.";

interface Commanded {
  readonly command: Published;
  readonly all: boolean | undefined;
  readonly ask: AskRegistry | undefined;
}

/** Server B by a command, on a machine that can have one, with digests that registries know. */
async function commanded(
  { command, all, ask }: Commanded,
  facts: HostFacts,
  base: Wanted,
  place: Place,
): Promise<Chosen> {
  const byCommand = await pinnedServers(readServers(command, all), { facts, base, place }, ask);
  const { model: id, recipe } = byCommand;
  const cached = facts.modelCache.models.some((each) => each.id === id && each.whole);
  return { byCommand, offer: { id, cached, weightsGB: recipe?.weights.diskGB } };
}

/** Facts that were printed before devices were known tell the GPU's name alone. */
export function recognised(facts: HostFacts): HostFacts {
  const { device, gpus, product = "" } = facts;
  if (device !== undefined || gpus.length === 0) return facts;
  const found = recognise({ gpus, tree: product, dmi: product, pci: [] });
  return found === undefined ? facts : { ...facts, device: found.id };
}

/** Asks whether what holds GPU memory is to be counted, and what the operating system takes. */
async function counted(facts: HostFacts, ask: Ask) {
  const uncounted: string[] = [];
  for (const taker of gpuTakers(facts, {}))
    if (!(await askTaker(ask, taker))) uncounted.push(taker.name);
  const gib = systemGiB(facts, { uncounted });
  const asksSystem = gib !== undefined && gib > UNEXPLAINED_GIB;
  const said = asksSystem ? await askSystem(ask, gib) : undefined;
  return { uncounted, ...defined({ systemGiB: said }) };
}

/** Asks about the network, the chat UI's administrator and the clients. */
async function around(facts: HostFacts, { clients }: Wanted, ask: Ask, unfit?: Unfit) {
  const network = await askNetwork(ask, `${facts.host}.local`);
  const administrator = network === undefined ? undefined : await askAdministrator(ask);
  return { ...defined({ network, administrator }), clients: await askClients(ask, clients, unfit) };
}

interface Chosen {
  readonly offer?:
    | (Pick<Offer, "id" | "cached" | "weightsGB"> & { readonly server?: Offer["server"] })
    | undefined;
  /** The server of a command. */
  readonly byCommand?: CommandServer;
  readonly lowerA?: number;
  /** What to know before `up` of the server, or why there is none where nobody chose that. */
  readonly none?: readonly string[];
}

/** Why no server can be planned on a machine at all, and what to do where too little was seen of it. */
interface NoServer {
  readonly why: string;
  readonly remedy?: string;
}

function noServer({ device, gpus, unshown }: HostFacts): NoServer | undefined {
  const why = whyNoServer(device);
  if (why !== undefined) return { why };
  if (device !== undefined) return undefined;
  if (gpus.length > 0)
    return {
      why: `nvidia-smi gives no answer, so it is not known whether ${gpus.join(", ")} shares the machine's memory: there is no server B.`,
      remedy: "Make `nvidia-smi` work, remove this file and run `serving init` again.",
    };
  return unshown === undefined
    ? undefined
    : {
        why: "Without its driver the GPU can't be identified: there is no server B.",
        remedy: "Remove this file and run `serving init` again once `nvidia-smi` shows it.",
      };
}

/**
 * Server B. Where none fits beside instance A for sure, it is one that may not start, which is said;
 * where none does at all, there is none. An instance A stays as it runs, unless it takes more than
 * any plan may hold.
 */
async function chooseServer(
  facts: HostFacts,
  base: Wanted,
  place: Place,
  ask?: Ask,
): Promise<Chosen> {
  const none = noServer(facts);
  if (none !== undefined)
    return { none: [[none.why, ...(none.remedy === undefined ? [] : [none.remedy])].join(" ")] };
  const recipes = readCatalogue(place.project);
  const [best] = offers(facts, base, recipes, place);
  const all = () => sorted([...offers(facts, base, recipes, { ...place, atBest: true })]);
  if (best !== undefined) return ask ? doubtful(await askModel(ask, all())) : { offer: best };
  const [a] = facts.servers;
  const { totalGiB, availableGiB } = facts.memory;
  const runs = a === undefined ? 0 : shareOfA(a, facts.memory);
  const lowered = a === undefined ? undefined : offerBesideLowered(facts, base, recipes, place);
  if (runs > AGGREGATE_LIMIT) return { offer: lowered, lowerA: lowered?.lowerA ?? AGGREGATE_LIMIT };
  const atBest = all();
  const remedy = a === undefined ? [] : [lowerText(a, lowered)];
  if (atBest.length > 0) {
    const offer = ask ? await askModel(ask, atBest) : atBest[0];
    if (offer === undefined) return {};
    const where = a === undefined ? "" : `Beside instance A, which takes ${runs} of the memory, `;
    return { offer, none: [[`${where}${mayNotStart(offer)}`, ...remedy].join(" ")] };
  }
  const why =
    a === undefined
      ? `No model of the catalogue fits into ${totalGiB} GiB of memory, of which ${availableGiB} were available: there is no server B.`
      : `No model fits beside instance A, which takes ${runs} of the memory: there is no server B.`;
  return { none: [[why, ...remedy].join(" ")] };
}

/** A model that somebody chose, with what is doubtful about it. */
const doubtful = (offer: Offer | undefined): Chosen => ({
  offer,
  ...defined({
    none: offer?.mayNotStart === true ? [mayNotStart(offer)] : undefined,
  }),
});

/** That a model may not start, in the plan's own words. */
const mayNotStart = ({ id, why = "may not start." }: Offer): string => `${id} ${why}`;

/**
 * The first offer stays first, as it is taken where nobody is asked. Then comes what starts for
 * sure, sorted by what people look for; what may not start stands last, that with the most room
 * first.
 */
function sorted([first, ...others]: readonly Offer[]): Offer[] {
  if (first === undefined) return [];
  const isKept = !first.mayNotStart;
  const rest = (isKept ? others : [first, ...others]).sort((one, other) =>
    one.mayNotStart === other.mayNotStart
      ? Number(other.cached) - Number(one.cached) ||
        (one.mayNotStart ? (other.requests ?? 0) - (one.requests ?? 0) : mostWanted(one, other))
      : Number(one.mayNotStart) - Number(other.mayNotStart),
  );
  return isKept ? [first, ...rest] : rest;
}

/** What to lower so that a model fits for sure. */
function lowerText({ runsIn }: HostServer, lowered: Offer | undefined): string {
  const where = runsIn === undefined ? "where you start it" : `in ${runsIn}`;
  return lowered === undefined
    ? "Stop it, or free memory; then remove this file and run `serving init` again."
    : `Lower its --gpu-memory-utilization ${where} to ${lowered.lowerA}, restart it, remove this file and run \`serving init\` again: then ${lowered.id} fits.`;
}
