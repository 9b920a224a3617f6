import { defined } from "@local-serving/base/faults/defined";
import { putAt } from "@local-serving/base/faults/json";
import { whyNoServer } from "@local-serving/machines/devices/devices";
import { AGGREGATE_LIMIT, cacheWithin, utilizationText } from "@local-serving/vllm/utilization";
import type { Recipe } from "../../components/catalogue";
import { readEvidence } from "../../components/evidence";
import {
  adviseShare,
  computedShare,
  type ServerKv,
  shareRoom,
  startVerdictOf,
  sureShare,
} from "../../components/memory";
import { type Plan, plan } from "../../components/plan";
import { isPooling, placesOf } from "../../components/planned";
import { declaredResources } from "../../components/program/machine";
import { inferenceServer, type StackSettings } from "../../components/settings";
import { type Judged, judge } from "../../policies/judge";
import { isPinRule } from "../pin/judgeImage";
import { clientChanges } from "./clientChanges";
import { neededImage } from "./neededImage";
import { currentServer, declaredServer, machineOf, type Seat, UNCHOSEN_TAG } from "./seat";
import {
  type ComputedShare,
  modelKeys,
  type ServerValue,
  serverValues,
  shareFor,
} from "./serverValues";
import type { ServedSpeed } from "./speeds";

/** Whether a model can run in a seat, and with what. */
export interface Fit {
  readonly recipe: Recipe;
  readonly beside: boolean;
  /** `perhaps`: at best, or as far as it is known. */
  readonly verdict: "yes" | "perhaps" | "no";
  /**
   * What the verdict rests on, best first: `started here`, `started at 0.7 for SOURCE`, `computed`,
   * `computed at best`. Absent where it doesn't fit.
   */
  readonly evidence?: string;
  /** Why it may not start, in the plan's own words, where that isn't sure. */
  readonly doubt?: string;
  /** Why its cache gets no size in bytes, where it is known what lies beside it. */
  readonly byShare?: string;
  /** Why it doesn't fit, if that is the verdict. */
  readonly reasons: readonly string[];
  /** Only rules that aren't about memory refuse it. */
  readonly isRefused?: true;
  /** It needs more machines than are linked to the seat's. */
  readonly lacksMachines: boolean;
  /** Image that it needs in place of the server's; the tag is `TAG` where nobody names one. */
  readonly image?: string;
  /** How much memory it lacks, in GiB, where that is the reason. */
  readonly missingGiB?: number;
  /** The share that a model which writes no text needs, and what is left, where that is too little. */
  readonly lacks?: Pick<ComputedShare, "needed" | "least"> & { readonly left: number };
  /** What the server's block would hold of it. */
  readonly values: readonly ServerValue[];
  /** `null` where the KV cache can't be planned. */
  readonly kv: ServerKv | null;
  /** How fast it would answer with these values; absent where nothing was planned. */
  readonly speed?: ServedSpeed;
}

/**
 * Shorter windows than this are not tried. Our judgement: an agent has no use for them, and no
 * source of the catalogue publishes one (16,384 of Llama-3.3-70B, NVIDIA dgx-spark-playbooks #79).
 */
const SHORTEST_WINDOW = 16_384;

/** The first start compiles kernels beside the loaded weights. */
const ONE_JOB: ServerValue = {
  path: ["compileJobs"],
  value: 1,
  why: "more compile processes beside these weights would not fit into the machine",
};

/**
 * Plans a model in its seat with the values of its recipe: the largest share that is left, and a
 * window that fits at best. One that writes no text gets the share that its whole window needs.
 */
export function fitModel(recipe: Recipe, given: Seat): Fit {
  const seat = withNeededImage(recipe, given);
  const nodes = nodesFor(recipe, seat);
  const beside = besideOthers(seat, nodes);
  const gpus = nodes.length * machineOf(seat.settings, seat.machine).gpus;
  const shared = nodes.length === 1 ? undefined : { nodes, gpus };
  const placement = { beside, ...defined({ drafts: seat.drafts, shared }) };
  const reasons = unfit(recipe, seat, nodes, beside);
  const wanted = shareFor(recipe, placement);
  const lacksMachines = nodes.length < recipe.machines;
  const none: Fit = {
    ...{ recipe, beside, lacksMachines, verdict: "no", reasons, values: [], kv: null },
    ...defined({ image: seat.image?.image }),
  };
  if (reasons.length > 0 || wanted === undefined) return none;
  const tried = (largest: number, { window, jobs, computed }: Changed = {}) => {
    const values = serverValues(recipe, { ...placement, largest, ...defined({ computed }) });
    const shorter = values.map((each) =>
      window !== undefined && each.path[0] === "maxModelLen"
        ? { ...each, value: window, why: `the longest that its share may hold; ${each.why}` }
        : each,
    );
    const own = [...shorter, ...(seat.own?.values ?? [])];
    const all = jobs === undefined ? own : [...own, jobs];
    return { values: all, ...planned(all, seat) };
  };
  const first = tried(wanted);
  const { largest } = first;
  if (isPooling(recipe.kind)) {
    const computed = surely(computedShare(first, wanted, totalOf(seat)), first.kv, seat);
    const lacks = { needed: computed.needed, least: computed.least, left: largest };
    return largest < computed.least
      ? { ...none, kv: first.kv, lacks, ...tooLittle(computed.least, largest, totalOf(seat)) }
      : judgedFit(tried(Math.min(computed.needed, largest), { computed }), none, seat, largest);
  }
  if (largest <= 0) {
    const { least } = first;
    const words = { reasons: ["The machine has no memory left for it."] };
    // The others may hold more than all servers together may have.
    const others = first.aggregate - wanted;
    const left = Math.min(0, AGGREGATE_LIMIT - others);
    return { ...none, ...(least > 0 ? tooLittle(least, left, totalOf(seat)) : words) };
  }
  const share = wanted <= largest ? wanted : Math.min(first.advised || largest, largest);
  let best = share === wanted ? first : tried(share);
  const jobs = best.shortGiB > 0 ? ONE_JOB : undefined;
  if (jobs !== undefined) best = tried(share, { jobs });
  // Half a window, down to a power of two.
  const half = 2 ** Math.floor(Math.log2((recipe.settings.maxModelLen ?? 0) / 2));
  for (let window = half; isCramped(best) && window >= SHORTEST_WINDOW; window /= 2)
    best = tried(share, { window, ...defined({ jobs }) });
  return judgedFit(best, none, seat, largest);
}

/**
 * The share of a model of which no start is known: one with which it starts even if it takes the
 * most that any start took, since the least would then be doubted at once.
 */
function surely(computed: ComputedShare, kv: ServerKv | null, seat: Seat): ComputedShare {
  const sure = seat.own === undefined || kv === null ? 0 : sureShare(kv, totalOf(seat));
  return sure <= computed.needed ? computed : { ...computed, needed: sure, why: SURELY };
}

const SURELY =
  "computed: its weights and one request, beside the most that any start is known to have taken";

/** What is tried in place of a recipe's own value. */
interface Changed {
  readonly window?: number;
  readonly jobs?: ServerValue;
  readonly computed?: ComputedShare;
}

/** A try with its values. */
type Tried = Planned & Pick<Fit, "values">;

/** What the policies and the plan of the KV cache say of the best try. */
function judgedFit(best: Tried, unjudged: Fit, seat: Seat, largest: number): Fit {
  const { values, kv } = best;
  const none = { ...unjudged, ...defined({ speed: serverIn(best.whole, seat)?.speed }) };
  // An image that nobody has read yet is judged once it was.
  const isUnread = seat.image !== undefined && seat.image.reading === undefined;
  const found = refusals(best.whole).filter(({ name }) => !(isUnread && isPinRule(name)));
  const ofModel = becauseOfModel(found, best, seat);
  const refused = ofModel.map(({ message }) => message);
  const start = kv === null ? undefined : startVerdictOf(kv);
  const cache = kv === null ? {} : cacheInBytes({ ...best, kv }, totalOf(seat));
  if (refused.length === 0 && start !== "cannot start")
    return {
      ...{ ...none, kv, verdict: start === "starts" ? "yes" : "perhaps" },
      values: "value" in cache ? [...values, cache.value] : values,
      evidence: evidenceOf(kv, seat.own !== undefined),
      ...defined({
        doubt: doubtOf(best, seat),
        byShare: "why" in cache ? cache.why : undefined,
      }),
    };
  const { least } = best;
  const hasRoom = start !== "cannot start" && !ofModel.some(({ name }) => OF_MEMORY.has(name));
  return least <= largest
    ? { ...none, values, kv, reasons: refused, ...defined({ isRefused: hasRoom || undefined }) }
    : { ...none, values, kv, ...tooLittle(least, largest, totalOf(seat)) };
}

/** Rules that say of a server that memory is lacking. */
const OF_MEMORY = new Set(["memory-sum", "aggregate-utilization", "server-starts"]);

/**
 * The size of a cache in bytes, where it is known what its like held beside it: what its share then
 * leaves, so that the sum stays as it is. Nothing where that isn't known, or leaves no window.
 */
function cacheInBytes(
  { kv, needs, values }: Tried & { readonly kv: ServerKv },
  totalGiB: number,
): { readonly value: ServerValue } | { readonly why: string } | Record<string, never> {
  const share = Number(values.find(({ path }) => path[0] === "gpuMemoryUtilization")?.value);
  const { takenGiB: taken } = kv.room;
  const { leastCacheBytes: least = kv.bytesPerRequest + kv.bytesPerBlock } = needs;
  if (taken === undefined) return {};
  const bytes = cacheWithin(share * totalGiB - taken, least);
  const seen = `${taken.toFixed(2)} GiB were seen beside the cache of such a server, and its share is ${(share * totalGiB).toFixed(2)} GiB`;
  if (bytes === undefined)
    return { why: `No \`kvCacheMemoryBytes\` is written: ${seen}, which leaves no whole window.` };
  return { value: { path: ["kvCacheMemoryBytes"], value: bytes, why: `computed: ${seen}` } };
}

const refusals = (whole: Plan) =>
  judge(declaredResources(whole)).filter(({ verdict }) => verdict === "refused");

/**
 * Those of a try's refusals that the stack doesn't have whatever its server holds: a port that two
 * services share says nothing of a model.
 */
function becauseOfModel(found: readonly Judged[], best: Tried, seat: Seat): readonly Judged[] {
  const there = declaredServer(seat);
  if (found.length === 0) return found;
  // A sentence on the server's memory has another figure then.
  const least = there && { [seat.server]: { ...there, gpuMemoryUtilization: 0.01 } };
  const machine = machineOf(seat.settings, seat.machine);
  const inferenceServers = { ...machine.inferenceServers, ...least };
  const machines = { ...seat.settings.machines, [seat.machine]: { ...machine, inferenceServers } };
  const before = planInSeat({ machines }, seat);
  const said = ({ name, message }: Judged, whole: Plan) =>
    `${name} ${message.replaceAll(containerIn(whole, seat) || "\n", "")}`;
  const anyway = new Set(refusals(before).map((each) => said(each, before)));
  return found.filter((each) => !anyway.has(said(each, best.whole)));
}

/** The seat's server in a plan; `undefined` where it has none. */
function serverIn({ machines }: Plan, { machine, server }: Seat) {
  const own = machines.find(({ name }) => name === machine);
  return own?.inferenceServers.find(({ key }) => key === server);
}

/** The name of the seat's container in a plan; "" where it has none. */
const containerIn = (whole: Plan, seat: Seat): string =>
  serverIn(whole, seat)?.container.name ?? "";

/** Why a server may not start, in the plan's own words; `undefined` where it surely does. */
function doubtOf({ whole }: Tried, { machine, server }: Seat): string | undefined {
  const begins = `${server}: `;
  const found = whole.warnings.find(
    (each) =>
      each.code === "kv-room" && each.machine === machine && each.message.startsWith(begins),
  );
  return found?.message.slice(begins.length);
}

/** How much a share that is left lacks, and the sentence that says so. */
function tooLittle(
  least: number,
  largest: number,
  totalGiB: number,
): Required<Pick<Fit, "missingGiB" | "reasons">> {
  const missingGiB = (least - largest) * totalGiB;
  const why = `It needs a share of at least ${utilizationText(least)}, and ${utilizationText(Math.max(0, largest))} is left: ${missingGiB.toFixed(1)} GiB too little.`;
  return { missingGiB, reasons: [why] };
}

/** The same seat with the image that a model needs, where its own won't do. */
function withNeededImage(recipe: Recipe, seat: Seat): Seat {
  const needed = neededImage(recipe, currentServer(seat));
  if (needed === undefined) return seat;
  const { repository, image = `${repository}:${UNCHOSEN_TAG}` } = needed;
  return { ...seat, image: { image } };
}

/**
 * The machines that a model would run on, the seat's first; too few where no more are linked to it.
 */
function nodesFor({ machines: wanted }: Recipe, { settings, machine }: Seat): readonly string[] {
  const { gpus, link: own } = machineOf(settings, machine);
  const others = Object.entries(settings.machines).filter(([name, { link, ...each }]) => {
    return name !== machine && own !== undefined && link !== undefined && each.gpus === gpus;
  });
  return [machine, ...others.map(([name]) => name)].slice(0, wanted);
}

/** Whether other engines take memory of the machines. */
function besideOthers({ settings, machine, server }: Seat, nodes: readonly string[]): boolean {
  return nodes.some((name) => {
    const { instanceA, inferenceServers } = machineOf(settings, name);
    return (
      instanceA !== "none" ||
      Object.keys(inferenceServers).some((key) => name !== machine || key !== server)
    );
  });
}

/** What rules a model out before any figure. */
function unfit(recipe: Recipe, seat: Seat, nodes: readonly string[], beside: boolean): string[] {
  const never = whyNoServer(machineOf(seat.settings, seat.machine).device);
  if (never !== undefined) return [never];
  const { share, machines } = recipe;
  const declared = Object.keys(seat.settings.machines).length;
  if (nodes.length < machines) {
    const why =
      declared < machines
        ? `this stack has ${declared}: declare the others, each with its \`link\``
        : `too few are linked to ${seat.machine}: write the \`link\` of each`;
    return [`It needs ${machines} machines, and ${why}.`];
  }
  if (beside && share.beside === "never")
    return ["It was only ever published as the only engine of a machine."];
  if (share.alone === undefined) return ["Its recipe names no share yet: write `share.alone`."];
  if (recipe.settings.maxModelLen === undefined)
    return ["Its recipe names no window yet: write `settings.maxModelLen`."];
  return [];
}

/** The stack's settings with a model's values in the seat. */
export function withModel(seat: Seat, values: readonly ServerValue[]): StackSettings {
  const block: Record<string, unknown> = structuredClone(currentServer(seat));
  const gone = [
    ...modelKeys(currentServer(seat), values),
    ...seat.leaves.map((name) => ["environment", name]),
  ];
  for (const path of gone) putAt(block, path, undefined);
  for (const { path, value } of values) putAt(block, path, value);
  const machine = machineOf(seat.settings, seat.machine);
  const inferenceServers = {
    ...machine.inferenceServers,
    [seat.server]: inferenceServer.parse(block),
  };
  const clients = structuredClone(machine.clients);
  for (const { path, value } of clientChanges(machine, seat.server, values))
    putAt(clients, path, value);
  return {
    machines: {
      ...seat.settings.machines,
      [seat.machine]: { ...machine, inferenceServers, clients },
    },
  };
}

/** The plan of settings, with what was read of the seat's model. */
export function planInSeat(settings: StackSettings, { project, own }: Seat): Plan {
  const read = readEvidence(settings, project);
  return plan(settings, { ...read, models: { ...read.models, ...own?.evidence } });
}

function planned(values: readonly ServerValue[], seat: Seat) {
  const settings = withModel(seat, values);
  const whole = planInSeat(settings, seat);
  const own = whole.machines.find(({ name }) => name === seat.machine);
  const name = containerIn(whole, seat);
  const server = own?.inferenceServers.find(({ key }) => key === seat.server);
  const held = (server ? placesOf(seat.machine, server) : []).flatMap((place) => {
    const on = whole.machines.find((each) => each.name === place.machine);
    return on === undefined ? [] : [{ ledger: on.ledger, share: shareRoom(on, place.container) }];
  });
  const block = settings.machines[seat.machine]?.inferenceServers[seat.server];
  const shares = held.map(({ share }) =>
    share === undefined ? NO_SHARE : adviseShare(share, block?.gpuMemoryUtilization ?? 0),
  );
  const largest = Math.min(...shares.map(({ fits }) => fits), seat.free ?? 1);
  const advised = Math.min(...shares.map(({ value }) => value));
  const aggregate = Math.max(0, ...held.map(({ ledger }) => ledger.aggregateUtilization));
  const shortGiB = Math.max(...held.map(({ ledger }) => ledger.sumGiB - ledger.totalGiB));
  const requests = block?.maxNumSeqs ?? 1;
  const [kv, needs] = [own?.kv[name] ?? null, own?.starts[name] ?? {}];
  const room = own && shareRoom(own, name);
  /** The least share with which it starts at best. */
  const least = room?.needs.leastUtilization ?? 0;
  return { whole, largest, advised, aggregate, shortGiB, requests, kv, needs, least };
}
type Planned = ReturnType<typeof planned>;

const NO_SHARE = { fits: 0, value: 0 };

/** What a plan of the KV cache rests on. */
function evidenceOf(kv: ServerKv | null, isOwn: boolean): string {
  if (kv === null) return "its KV cache can't be computed";
  const { basis, started } = kv.room;
  const isSure = startVerdictOf(kv) === "starts";
  if (basis === "measured") return "started here";
  if (started !== undefined && isSure) return `started at ${started.share} for ${started.source}`;
  const computed = isSure ? "computed" : "computed at best";
  return isOwn ? `${computed}; not measured yet` : computed;
}

/** Whether a shorter window may help. */
const isCramped = ({ kv }: Planned): boolean =>
  kv !== null && !kv.atBest.fits && kv.room.highGiB > 0;

const totalOf = ({ settings, machine }: Seat): number => machineOf(settings, machine).totalGiB;
