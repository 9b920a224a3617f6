import { gte, valid } from "@renovatebot/pep440";
import type { Recipe } from "../../components/catalogue";
import { readRecipe } from "../../components/catalogue";
import { readEvidence } from "../../components/evidence";
import { declaredResources } from "../../components/machine";
import type { ServerKv } from "../../components/memory";
import { ownSpeeds } from "../../components/memory";
import { plan } from "../../components/plan";
import { type Evidence, rankContainer } from "../../components/planned";
import type { StackSettings } from "../../components/settings";
import { type InferenceServerSettings, inferenceServer } from "../../components/settings";
import { pinnedServer, vllmOf } from "../../components/supply";
import { defined } from "../../faults/defined";
import { putAt } from "../../faults/json";
import { whyNoServer } from "../../machines/devices/devices";
import { imageReference } from "../../machines/docker/imageReference";
import { judge } from "../../policies/judge";
import { BYTES_PER_GIB } from "../../units/memory";
import { upToHundredth, utilizationText } from "../../vllm/utilization";
import { modelKeys, type ServerValue, serverValues, shareFor } from "./serverValues";

/** The server of a stack that a model would run in. */
export interface Seat {
  readonly settings: StackSettings;
  readonly machine: string;
  /** Key in `inferenceServers`; a new one takes its image from another server. */
  readonly server: string;
  /** Folder that holds `models/`. */
  readonly project: string;
  /** Variables that belong to the model that runs there now, and go with it. */
  readonly leaves: readonly string[];
  readonly drafts?: boolean;
  /** A model that no recipe tells of: what was read of it, and the values beside a recipe's. */
  readonly own?: {
    readonly evidence: NonNullable<Evidence["models"]>;
    readonly values: readonly ServerValue[];
  };
  /** The largest share that is free on the machine now. Default: what the plan leaves. */
  readonly free?: number;
}

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
  /** Why it doesn't fit, if that is the verdict. */
  readonly reasons: readonly string[];
  /** It needs more machines than are linked to the seat's. */
  readonly lacksMachines: boolean;
  /** How much memory it lacks, in GiB, where that is the reason. */
  readonly missingGiB?: number;
  /** What the server's block would hold of it. */
  readonly values: readonly ServerValue[];
  /** `null` where the KV cache can't be planned. */
  readonly kv: ServerKv | null;
}

/** Shorter windows than this are no use to an agent. */
const SHORTEST_WINDOW = 16_384;

/** The first start compiles kernels beside the loaded weights. */
const ONE_JOB: ServerValue = {
  path: ["compileJobs"],
  value: 1,
  why: "more compile processes beside these weights would not fit into the machine",
};

/**
 * Plans a model in its seat with the values of its recipe: the largest share that is left, and a
 * window that fits at best.
 */
export function fitModel(recipe: Recipe, seat: Seat): Fit {
  const nodes = nodesFor(recipe, seat);
  const beside = besideOthers(seat, nodes);
  const gpus = nodes.length * machineOf(seat.settings, seat.machine).gpus;
  const shared = nodes.length === 1 ? undefined : { nodes, gpus };
  const placement = { beside, ...defined({ drafts: seat.drafts, shared }) };
  const reasons = unfit(recipe, seat, nodes, beside);
  const wanted = shareFor(recipe, placement);
  const lacksMachines = nodes.length < recipe.machines;
  const none: Fit = { recipe, beside, lacksMachines, verdict: "no", reasons, values: [], kv: null };
  if (reasons.length > 0 || wanted === undefined) return none;
  const tried = (largest: number, window?: number, jobs?: ServerValue) => {
    const values = serverValues(recipe, { ...placement, largest });
    const shorter = values.map((each) =>
      window !== undefined && each.path[0] === "maxModelLen"
        ? { ...each, value: window, why: `the longest that its share holds at best; ${each.why}` }
        : each,
    );
    const own = [...shorter, ...(seat.own?.values ?? [])];
    const all = jobs === undefined ? own : [...own, jobs];
    return { values: all, ...planned(all, seat) };
  };
  const first = tried(wanted);
  const { largest } = first;
  if (largest <= 0)
    return { ...none, reasons: ["Nothing of the machine's memory is left for it."] };
  const share = Math.min(wanted, largest);
  let best = share === wanted ? first : tried(share);
  const jobs = best.shortGiB > 0 ? ONE_JOB : undefined;
  if (jobs !== undefined) best = tried(share, undefined, jobs);
  // Half a window, down to a power of two.
  const half = 2 ** Math.floor(Math.log2((recipe.settings.maxModelLen ?? 0) / 2));
  for (let window = half; isCramped(best) && window >= SHORTEST_WINDOW; window /= 2)
    best = tried(share, window, jobs);
  const { values, kv } = best;
  const judged = judge(declaredResources(best.whole));
  const refused = judged.flatMap(({ verdict, message }) =>
    verdict === "refused" ? [message] : [],
  );
  if (refused.length === 0 && kv?.atBest.fits !== false)
    return {
      ...{ ...none, values, kv, verdict: kv?.fits === true ? "yes" : "perhaps" },
      evidence: evidenceOf(kv, seat.own !== undefined),
    };
  const least = leastShare(best, totalOf(seat));
  const missingGiB = (least - largest) * totalOf(seat);
  if (missingGiB <= 0) return { ...none, values, kv, reasons: refused };
  const why = `It needs a share of ${utilizationText(least)} at the least, and ${utilizationText(largest)} is left: ${missingGiB.toFixed(1)} GiB too little.`;
  return { ...none, values, kv, missingGiB, reasons: [why] };
}

/**
 * The seat of a model in a stack: what makes vectors or sorts gets a server of its own beside one
 * that chats, and the other way round.
 */
export function seatFor({ kind }: Recipe, seat: Seat): Seat {
  const { inferenceServers } = machineOf(seat.settings, seat.machine);
  const kinds = Object.entries(inferenceServers).map(
    ([key, { model }]) => [key, model.kind] as const,
  );
  const isKept = kinds.every(([key, has]) => key !== seat.server || has === kind);
  const moved = { ...seat, server: kinds.find(([, has]) => has === kind)?.[0] ?? kind };
  return isKept ? seat : { ...moved, leaves: leavesOf(moved) };
}

/**
 * A recipe with the speeds that were measured of its model on the seat's machine, where there are
 * any, in place of its own.
 */
export function withOwnSpeeds(recipe: Recipe, { settings, machine }: Seat): Recipe {
  const servers = Object.values(machineOf(settings, machine).inferenceServers);
  const own = servers.flatMap((each) => (each.model.id === recipe.id && ownSpeeds(each)) || []);
  const basis = { basis: "measured", source: "serving bench on this machine" } as const;
  const speeds = own.flatMap(({ at: date, ...rates }) =>
    (["decode", "prefill"] as const).map((what) => ({
      what,
      tokensPerSecond: rates[what],
      date,
      ...basis,
    })),
  );
  return speeds.length > 0 ? { ...recipe, speeds } : recipe;
}

/** The variables that a seat's present model has by its recipe. Throws as `readRecipe` does. */
export function leavesOf({ settings, machine, server, project }: Omit<Seat, "leaves">): string[] {
  const there = machineOf(settings, machine).inferenceServers[server];
  const leaving = there && readRecipe(project, there.model.id);
  return Object.keys(leaving?.settings.environment ?? {});
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

/** The same seat on machines that run nothing else. */
export function aloneIn(seat: Seat): Seat {
  const own = { [seat.server]: currentServer(seat) };
  const machines = Object.entries(seat.settings.machines).flatMap(([name, machine]) => {
    const inferenceServers = name === seat.machine ? own : {};
    const isOf = name === seat.machine || machine.link !== undefined;
    return isOf
      ? [[name, { ...machine, instanceA: "none" as const, inferenceServers }] as const]
      : [];
  });
  return { ...seat, settings: { machines: Object.fromEntries(machines) } };
}

/** What rules a model out before any figure. */
function unfit(recipe: Recipe, seat: Seat, nodes: readonly string[], beside: boolean): string[] {
  const never = whyNoServer(machineOf(seat.settings, seat.machine).device);
  if (never !== undefined) return [never];
  const current = currentServer(seat);
  const { minimumVllm: least, share, machines } = recipe;
  const declared = Object.keys(seat.settings.machines).length;
  if (nodes.length < machines) {
    const why =
      declared < machines
        ? `this stack has ${declared}: declare the others, each with its \`link\``
        : `too few are linked to ${seat.machine}: write the \`link\` of each`;
    return [`It needs ${machines} machines, and ${why}.`];
  }
  const has = vllmOf(current);
  const repository = imageReference(current.image)?.repository;
  if (beside && share.beside === "never")
    return ["It is only ever published as the one engine of its machine."];
  if (share.alone === undefined) return ["Its recipe names no share yet: write `share.alone`."];
  if (recipe.settings.maxModelLen === undefined)
    return ["Its recipe names no window yet: write `settings.maxModelLen`."];
  if (recipe.image !== undefined && repository !== recipe.image)
    return [
      `It needs the image ${recipe.image} in place of ${repository}${whoSays(recipe)}: \`serving pin ${recipe.image}:TAG --entry inferenceServers.${seat.server} --write\`, then \`serving models use ${recipe.servedModelName}\`.`,
    ];
  if (least !== undefined && has !== undefined && valid(has) !== null && !gte(has, least))
    return [
      `It needs vLLM ${least} or newer, and the image of ${seat.server} has ${has}: take a newer one by \`serving pin\`.`,
    ];
  return [];
}

/** Who says that a recipe's image is needed. */
function whoSays({ sources }: Recipe): string {
  const from = sources.find(({ of }) => of.includes("image"));
  return from === undefined ? "" : ` (${from.basis}: ${from.source})`;
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
  return {
    machines: { ...seat.settings.machines, [seat.machine]: { ...machine, inferenceServers } },
  };
}

function planned(values: readonly ServerValue[], seat: Seat) {
  const settings = withModel(seat, values);
  const read = readEvidence(settings, seat.project);
  const whole = plan(settings, { ...read, models: { ...read.models, ...seat.own?.evidence } });
  const own = whole.machines.find(({ name }) => name === seat.machine);
  const name = own?.inferenceServers.find(({ key }) => key === seat.server)?.container.name ?? "";
  const nodes = settings.machines[seat.machine]?.inferenceServers[seat.server]?.nodes ?? [
    seat.machine,
  ];
  const held = nodes.flatMap((node, index) => {
    const ledger = whole.machines.find((each) => each.name === node)?.ledger;
    return ledger === undefined ? [] : [{ ledger, container: rankContainer(name, index) }];
  });
  const left = held.map(
    ({ ledger, container }) => ledger.largestUtilizationThatFits[container] ?? 0,
  );
  const largest = Math.min(...left, seat.free ?? 1);
  const shortGiB = Math.max(...held.map(({ ledger }) => ledger.sumGiB - ledger.totalGiB));
  return { whole, largest, shortGiB, kv: own?.kv[name] ?? null, needs: own?.starts[name] ?? {} };
}
type Planned = ReturnType<typeof planned>;

/** What a plan of the KV cache rests on. */
function evidenceOf(kv: ServerKv | null, isOwn: boolean): string {
  if (kv === null) return "its KV cache can't be computed";
  const { basis, started } = kv.room;
  if (basis === "measured") return "started here";
  if (started !== undefined && kv.fits) return `started at ${started.share} for ${started.source}`;
  const computed = kv.fits ? "computed" : "computed at best";
  return isOwn ? `${computed}; yours, unproven` : computed;
}

/** Whether a shorter window may help. */
const isCramped = ({ kv }: Planned): boolean =>
  kv !== null && !kv.atBest.fits && kv.room.highGiB > 0;

/** The least share with which it starts at best. */
function leastShare({ kv, needs }: Planned, totalGiB: number): number {
  const best = kv === null ? 0 : kv.room.outsideGiB.low + kv.bytesPerRequest / BYTES_PER_GIB;
  return Math.max(needs.leastUtilization ?? 0, upToHundredth(best / totalGiB));
}

/** A first server before it has a model. */
const PLACEHOLDER = {
  model: { id: "org/model" },
  servedModelName: "model",
  gpuMemoryUtilization: 0.1,
  maxModelLen: 1024,
  port: 8001,
};

/** The server in a seat; a new one has image and versions of another, and the next port. */
export function currentServer({ settings, machine, server }: Seat): InferenceServerSettings {
  const { inferenceServers } = machineOf(settings, machine);
  const there = inferenceServers[server];
  if (there !== undefined) return there;
  const [other] = Object.values(inferenceServers);
  if (other === undefined) return inferenceServer.parse({ ...PLACEHOLDER, ...pinnedServer() });
  const ports = Object.values(inferenceServers).map(({ port }) => port);
  const { image, versions, model, servedModelName, gpuMemoryUtilization, maxModelLen } = other;
  const placeholder = { model, servedModelName, gpuMemoryUtilization, maxModelLen };
  return inferenceServer.parse({ ...placeholder, image, versions, port: Math.max(...ports) + 1 });
}

function machineOf({ machines }: StackSettings, name: string) {
  const machine = machines[name];
  if (machine === undefined) throw new Error(`There is no machine ${name}.`);
  return machine;
}

const totalOf = ({ settings, machine }: Seat): number => machineOf(settings, machine).totalGiB;
