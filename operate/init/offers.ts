import { gte } from "@renovatebot/pep440";
import type { Recipe } from "../../components/catalogue/recipe";
import { type ServerValue, serverValues, shareFor } from "../../components/catalogue/serverValues";
import { thousands } from "../../components/kv";
import type { ServerKv } from "../../components/memory/serverKv";
import type { MachinePlan } from "../../components/plan/types";
import { AGGREGATE_LIMIT, downToHundredth } from "../../components/planned/utilization";
import { draft } from "./draft";
import type { HostFacts } from "./facts";
import { SERVER_VERSIONS } from "./images";
import { shareOfA, type Wanted } from "./settings";

/** A model that fits on the machine as server B, with its values. */
export interface Offer {
  readonly id: string;
  readonly cached: boolean;
  readonly share: number;
  readonly weightsGB: number | undefined;
  readonly server: readonly ServerValue[];
  /** Share that instance A must be lowered to for it. */
  readonly lowerA?: number;
}

/** Served unless a model of the catalogue that fits is in the cache already: the one of Pulumi.dgx.yaml. */
const DEFAULT_MODEL = "nvidia/Qwen3.6-35B-A3B-NVFP4";

/** MemAvailable in GiB that a plan leaves at the least, so that the start gate stops nothing. */
const FLOOR_GIB = 2;

/** A window below this serves no coding agent. */
const SHORTEST_WINDOW = 32_768;

/**
 * The models that can be server B beside everything that was found: those in the cache first, then the default one, then the
 * catalogue's others. Each was planned: no policy refuses it, and its KV cache holds a request of the whole window.
 */
export function* offers(
  facts: HostFacts,
  wanted: Wanted,
  recipes: readonly Recipe[],
  home?: string,
): Generator<Offer> {
  const cached = new Set(facts.modelCache.models.flatMap(({ id, whole }) => (whole ? [id] : [])));
  const rank = ({ id }: Recipe) => (cached.has(id) ? 0 : id === DEFAULT_MODEL ? 1 : 2);
  const servable = recipes.filter(
    ({ kind, machines, image, minimumVllm = "0" }) =>
      kind === "chat" && machines === 1 && image === undefined && gte(SERVER_VERSIONS.vllm, minimumVllm),
  );
  for (const recipe of servable.sort((a, b) => rank(a) - rank(b))) {
    const found = fitted(facts, wanted, recipe, home);
    const { id, weights } = recipe;
    if (found !== undefined) yield { id, cached: cached.has(id), weightsGB: weights.diskGB, ...found };
  }
}

/** The default model beside instance A, lowered to what the limit on all servers leaves; `undefined` where that isn't enough. */
export function offerBesideLowered(
  facts: HostFacts,
  wanted: Wanted,
  recipes: readonly Recipe[],
  home?: string,
): Offer | undefined {
  const usual = recipes.filter(({ id }) => id === DEFAULT_MODEL);
  const share = usual.map((recipe) => shareFor(recipe, { beside: true }))[0];
  const lowerA = downToHundredth(AGGREGATE_LIMIT - (share ?? AGGREGATE_LIMIT));
  const [a] = facts.servers;
  if (a === undefined || lowerA === 0 || lowerA >= shareOfA(a, facts.memory)) return undefined;
  const [offer] = offers(facts, { ...wanted, lowerA }, usual, home);
  return offer && { ...offer, lowerA };
}

/** The values with which a model fits; `undefined` where it doesn't, or where nobody knows. */
function fitted(facts: HostFacts, wanted: Wanted, recipe: Recipe, home?: string) {
  const beside = facts.servers.length > 0;
  const asked = shareFor(recipe, { beside });
  if (asked === undefined) return undefined;
  const planned = (values: readonly ServerValue[]) =>
    draft(facts, { ...wanted, server: values }, home).machine;
  const largest = largestShare(facts, planned(serverValues(recipe, { beside })), wanted);
  const share = Math.min(asked, largest);
  if (share <= 0) return undefined;
  const values = serverValues(recipe, { beside, largest });
  const machine = planned(values);
  const [kv] = Object.values(machine.kv);
  const window = kv ? windowThatFits(kv, share === asked) : undefined;
  if (window === undefined) return undefined;
  const shorter = `${thousands(window)} tokens are the most that this share holds.`;
  const server = values.map((each) =>
    each.path[0] === "maxModelLen" && window < (kv?.maxModelLen ?? 0)
      ? { ...each, value: window, why: shorter }
      : each,
  );
  return draft(facts, { ...wanted, server }, home).refused.length > 0 ? undefined : { share, server };
}

/** The largest share for server B by the ledger, the limit on all servers and what is free, with a little left over. */
function largestShare({ memory, docker }: HostFacts, { ledger }: MachinePlan, { lowerA }: Wanted): number {
  const { totalGiB, availableGiB } = memory;
  const [largest] = Object.values(ledger.largestUtilization);
  const asItIs = lowerA === undefined && !(docker.reachable && docker.ours.length > 0);
  return Math.min(
    largest?.byAggregate ?? 0,
    downToHundredth((largest?.bySum ?? 0) - FLOOR_GIB / totalGiB),
    asItIs ? downToHundredth(availableGiB / totalGiB) : 1,
  );
}

/**
 * The window to serve, in tokens. Where nobody measured such a server, its recipe's own share is believed as far as the best
 * case bears it, and no other.
 */
function windowThatFits({ fits, atBest, room, ...kv }: ServerKv, ownShare: boolean): number | undefined {
  if (fits) return kv.maxModelLen;
  if (room.basis === "estimated") return ownShare && atBest.fits ? kv.maxModelLen : undefined;
  const longest = kv.largestMaxModelLen ?? 0;
  return longest >= SHORTEST_WINDOW ? 2 ** Math.floor(Math.log2(longest)) : undefined;
}
