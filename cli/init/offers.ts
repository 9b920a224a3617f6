import { defined } from "@local-serving/base/faults/defined";
import { suggestedModel } from "@local-serving/machines/devices/devices";
import { AGGREGATE_LIMIT, downToHundredth } from "@local-serving/vllm/utilization";
import { gte } from "@renovatebot/pep440";
import type { Recipe } from "../../components/catalogue";
import { pinnedServer } from "../../components/supply";
import { fitModel } from "../models/fit";
import { callsTools } from "../models/mostWanted";
import { leavesOf } from "../models/seat";
import { type ServerValue, serverValues, shareFor } from "../models/serverValues";
import type { ServedSpeed } from "../models/speeds";
import type { HostFacts } from "../sees/computer/facts";
import { plannedDraft } from "./draft";
import { shareOfA, type Wanted } from "./settings";

/** Whose stack file is made. */
export interface Place {
  /** Name of the stack. */
  readonly name: string;
  /** Folder that holds the catalogue. */
  readonly project: string;
  /** The operator's home, where the facts are of this computer. */
  readonly home?: string;
}

/** A model that fits on the machine as server B, with its values. */
export interface Offer {
  readonly id: string;
  /** Name that clients ask for. */
  readonly servedModelName: string;
  readonly toolCalls: boolean;
  readonly cached: boolean;
  readonly share: number;
  readonly weightsGB: number | undefined;
  readonly server: readonly ServerValue[];
  /** It starts only at best of what is known. */
  readonly mayNotStart: boolean;
  /** Why that is, as the plan says it. */
  readonly why?: string;
  readonly window?: number;
  /** Whole windows that its KV cache holds at best. */
  readonly requests?: number;
  /** Coding agents that work at once, where it surely starts. */
  readonly agents?: number;
  /** How fast it was seen to answer, and by whom. */
  readonly speed?: ServedSpeed;
  /** Share that instance A must be lowered to for it. */
  readonly lowerA?: number;
}

/**
 * Served unless a model of the catalogue that fits is in the cache already, or the device's maker
 * starts another one there: the one of Pulumi.dgx.yaml.
 */
const DEFAULT_MODEL = "nvidia/Qwen3.6-35B-A3B-NVFP4";

/**
 * The models that can be server B beside everything that was found: those in the cache first, then
 * the default one, then the catalogue's others. A model that may start only at best is offered with
 * its recipe's own share, and with another one only if `atBest` asks for that.
 */
export function* offers(
  facts: HostFacts,
  wanted: Wanted,
  recipes: readonly Recipe[],
  { project, home, atBest = false }: Place & { readonly atBest?: boolean },
): Generator<Offer> {
  const cached = new Set(facts.modelCache.models.flatMap(({ id, whole }) => (whole ? [id] : [])));
  const usual = suggestedModel(facts.device, facts.memory.totalGiB) ?? DEFAULT_MODEL;
  const rank = ({ id }: Recipe) => (cached.has(id) ? 0 : id === usual ? 1 : 2);
  const beside = facts.servers.length > 0;
  const asks = (recipe: Recipe) => shareFor(recipe, { beside });
  const servable = recipes.filter((recipe) => isServable(recipe) && asks(recipe) !== undefined);
  const [first, ...others] = servable.sort((a, b) => rank(a) - rank(b));
  if (first === undefined) return;
  // The first one holds the place for all.
  const { settings, machine } = plannedDraft(
    facts,
    { ...wanted, server: serverValues(first, { beside }) },
    home,
  );
  const { memory, docker } = facts;
  // A server of ours, or a lower A, gives memory back.
  const asItIs = wanted.lowerA === undefined && !(docker.reachable && docker.ours.length > 0);
  const free = asItIs ? downToHundredth((memory.availableGiB - FLOOR_GIB) / memory.totalGiB) : 1;
  const place = { settings, machine: machine.name, server: "b", project, free };
  const seat = { ...place, leaves: leavesOf(place) };
  for (const recipe of [first, ...others]) {
    const asked = asks(recipe);
    const { verdict, values, kv, doubt, speed } = fitModel(recipe, seat);
    const share = Number(values.find(({ path }) => path[0] === "gpuMemoryUtilization")?.value);
    const isSure = verdict === "yes" || (verdict === "perhaps" && kv !== null && share === asked);
    if (isSure || (atBest && verdict === "perhaps" && kv !== null))
      yield {
        id: recipe.id,
        servedModelName: recipe.servedModelName,
        toolCalls: callsTools(recipe),
        mayNotStart: verdict === "perhaps",
        ...defined({
          why: doubt,
          window: kv?.maxModelLen,
          requests: kv?.atBest.maxConcurrency,
          agents: kv?.fits === true ? kv.agents[0]?.atOnce : undefined,
          speed,
        }),
        cached: cached.has(recipe.id),
        weightsGB: recipe.weights.diskGB,
        share,
        server: values,
      };
  }
}

/** Whether the server that is declared can serve a recipe's model to coding agents. */
const isServable = ({ kind, machines, image, minimumVllm = "0" }: Recipe): boolean =>
  kind === "chat" &&
  machines === 1 &&
  image === undefined &&
  gte(pinnedServer().versions.vllm, minimumVllm);

/** MemAvailable in GiB that is left at the least, so that the start gate stops nothing. */
const FLOOR_GIB = 2;

/**
 * The default model beside instance A, lowered to what the limit on all servers leaves; `undefined`
 * where that isn't enough.
 */
export function offerBesideLowered(
  facts: HostFacts,
  wanted: Wanted,
  recipes: readonly Recipe[],
  place: Place,
) {
  const usual = recipes.filter(({ id }) => id === DEFAULT_MODEL);
  const share = usual.map((recipe) => shareFor(recipe, { beside: true }))[0];
  const lowerA = downToHundredth(AGGREGATE_LIMIT - (share ?? AGGREGATE_LIMIT));
  const [a] = facts.servers;
  if (a === undefined || lowerA === 0 || lowerA >= shareOfA(a, facts.memory)) return undefined;
  const [offer] = offers(facts, { ...wanted, lowerA }, usual, place);
  return offer && { ...offer, lowerA };
}
