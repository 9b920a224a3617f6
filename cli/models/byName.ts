import { today } from "@local-serving/base/units/dateText";
import { GIB_PER_GB } from "@local-serving/base/units/memory";
import { upToHundredth } from "@local-serving/vllm/utilization";
import type { Recipe } from "../../components/catalogue";
import { namedFamily } from "../../components/inference-server";
import { namedPooling, namedWeights, readModelName } from "../../components/memory/model-name";
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

const BY_FILES = "the sizes of its files, as the hub lists them";
const ALONE = "its name alone; nothing else was read of it";

/** A model by its name, with the values of its server beside a recipe's. */
export interface NamedRecipe {
  readonly recipe: Recipe;
  readonly values: readonly ServerValue[];
}

/** A size as a stack file has it: to a hundredth of a GB, or two digits of less. */
export const writtenGB = (weightsGB: number): number =>
  Number(weightsGB < 0.1 ? weightsGB.toPrecision(2) : weightsGB.toFixed(2));

/** A model of which nothing was read itself, on a machine. */
interface Unread {
  readonly id: string;
  readonly totalGiB: number;
  /** Size of its weights by the hub's list of its files. */
  readonly weightsGB?: number | undefined;
}

/**
 * A recipe of what a model's name says, and the size of its files; `undefined` where they tell
 * neither a size nor a kind. It rests on nothing else, so its plan can only refuse or leave open.
 */
export function recipeByName({ id, totalGiB, weightsGB }: Unread): NamedRecipe | undefined {
  const listed = weightsGB && weightsGB * GIB_PER_GB;
  const gib = listed ?? namedWeights(id)?.gib;
  if (gib === undefined && readModelName(id).kind === "chat") return undefined;
  const kind = namedPooling(id) ?? "chat";
  const isGuard = readModelName(id).kind === "guard";
  const { family, tool } = kind === "chat" && !isGuard ? namedFamily(id) : {};
  const date = today();
  const alone = kind === "chat" ? LARGEST_SHARE : poolingShare(gib ?? 0, totalGiB);
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
  const size =
    weightsGB === undefined
      ? []
      : [{ path: ["model", "weightsGB"], value: writtenGB(weightsGB), why: BY_FILES }];
  return { recipe, values: [...size, ...(kind === "chat" && !hasTools ? [noTools] : [])] };
}
