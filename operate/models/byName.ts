import type { Recipe } from "../../components/catalogue";
import { namedFamily } from "../../components/inference-server";
import { namedPooling, namedWeights, readModelName } from "../../components/planned";
import { upToHundredth } from "../../vllm/utilization";
import type { ServerValue } from "./serverValues";

/** The largest share that is chosen for a model of which nothing was read: more needs caches to be dropped first. */
export const LARGEST_SHARE = 0.8;

/**
 * The window of a model that makes vectors or sorts, where nobody here knows its own. Our judgement:
 * hardly any has a shorter one, and vLLM refuses to start with a longer one than the model's.
 */
const POOLING_WINDOW = 512;

/** The same of a model that judges texts: the first LlamaGuard has 4,096. */
const GUARD_WINDOW = 4096;

/**
 * Where neither a recipe nor a config.json names a window. Our judgement: small enough to start, and
 * long enough for an agent.
 */
export const USUAL_WINDOW = 32_768;

/** The window of a model by its kind alone; `isPooled` where something else than its name says that. */
export function windowByName(id: string, isPooled = namedPooling(id) !== undefined): number {
  if (isPooled) return POOLING_WINDOW;
  return readModelName(id).kind === "guard" ? GUARD_WINDOW : USUAL_WINDOW;
}

/**
 * The share of a model that writes no text and of unknown size, and what it takes beside its weights,
 * in GiB. Our judgement: catalogue models of 0.6 billion parameters get 0.15 with a window of 32,768.
 */
const POOLING_SHARE = 0.1;
const BESIDE_POOLING_GIB = 5;

/** The share of a model that writes no text and that the catalogue lacks. */
export const poolingShare = (weightsGiB: number, totalGiB: number): number =>
  Math.max(POOLING_SHARE, upToHundredth((weightsGiB + BESIDE_POOLING_GIB) / totalGiB));

const ALONE = "its name alone; nothing else was read of it";

/** A model by its name, with the values of its server beside a recipe's. */
export interface NamedRecipe {
  readonly recipe: Recipe;
  readonly values: readonly ServerValue[];
}

/**
 * A recipe of what a model's name says, for a machine; `undefined` where it tells neither a size nor
 * a kind. It rests on nothing else, so its plan can only refuse or leave open.
 */
export function recipeByName(id: string, totalGiB: number): NamedRecipe | undefined {
  const weights = namedWeights(id);
  if (weights === undefined && readModelName(id).kind === "chat") return undefined;
  const kind = namedPooling(id) ?? "chat";
  const isGuard = readModelName(id).kind === "guard";
  const { family, tool } = kind === "chat" && !isGuard ? namedFamily(id) : {};
  const date = new Date().toISOString().slice(0, 10);
  const alone = kind === "chat" ? LARGEST_SHARE : poolingShare(weights?.gib ?? 0, totalGiB);
  const recipe: Recipe = {
    id,
    kind,
    thinking: false,
    family: family ?? "other",
    machines: 1,
    servedModelName: (id.split("/")[1] ?? id).toLowerCase(),
    config: { from: "other-model", source: ALONE, date },
    weights: { partlyOnDisk: false },
    parsers: tool === undefined ? {} : { tool },
    share: { alone },
    settings: { maxModelLen: windowByName(id), kvCacheDtype: "auto" },
    speeds: [],
    starts: [],
    against: [],
    notes: [],
    sources: [
      {
        of: ["share.alone", "settings.maxModelLen", "settings.kvCacheDtype", "parsers.tool"],
        basis: "judged",
        source: ALONE,
        date,
      },
    ],
  };
  const hasTools = family !== undefined || tool !== undefined;
  const noTools = { path: ["tools", "autoChoice"], value: false, why: `judged: ${ALONE}` };
  return { recipe, values: kind === "chat" && !hasTools ? [noTools] : [] };
}
