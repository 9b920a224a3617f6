import type { Meminfo } from "@local-serving/machines/memory";
import type { ModelFiles } from "@local-serving/machines/modelFiles";
import type { ModelStarts } from "./schema/seenStart";

/**
 * What was read before planning. The plan itself reads nothing, so it is the same wherever it is
 * made.
 */
export interface Evidence {
  /** Home directory of the operator on the machine; `~/` in a path means it. */
  readonly home: string;
  /** The same on the computer that runs this, where that is another one. */
  readonly homeHere?: string;
  /** Memory as a machine reports it, by the machine's name, where it was read. */
  readonly meminfo?: Readonly<Record<string, Meminfo>>;
  /**
   * Windows in tokens that were applied last, by machine and key of the server, as long as it
   * serves the same model.
   */
  readonly appliedWindows?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Shares of the memory that were applied last, in the same way. */
  readonly appliedShares?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** What was found of each model, by its id. */
  readonly models?: Readonly<Record<string, ModelEvidence>>;
  /** Starts of any model that the catalogue knows. */
  readonly starts?: readonly ModelStarts[];
  /** The known id that is close to one of which nothing was found, where one is. */
  readonly closeIds?: Readonly<Record<string, string>>;
  /**
   * What was read of the folders that operators declare as models and adapters, and of adapters in
   * the model cache: by machine, and by the path in the stack file or `ID@COMMIT`. Only a machine
   * that this runs on is read.
   */
  readonly folders?: Readonly<Record<string, Readonly<Record<string, ModelFiles>>>>;
}

/** What was read of such a folder on one of these machines; the first that knows it counts. */
export function folderEvidence(
  { folders = {} }: Evidence,
  machines: readonly string[],
  place: string,
): ModelFiles | undefined {
  const own = <Value>(map: Readonly<Record<string, Value>>, key: string) =>
    Object.hasOwn(map, key) ? map[key] : undefined;
  return machines.flatMap((machine) => own(own(folders, machine) ?? {}, place) ?? [])[0];
}

/**
 * Returns what was found about a model. It reads own keys alone, since every object also has
 * members such as `constructor`.
 */
export const modelEvidence = ({ models = {} }: Evidence, id: string): ModelEvidence | undefined =>
  Object.hasOwn(models, id) ? models[id] : undefined;

/**
 * What was read of a model: its config.json, and what is known of its weights and of earlier
 * starts.
 */
export interface ModelEvidence {
  /** File that the config is from, as a reader finds it. */
  readonly source: string;
  /** The parsed config.json; absent where it could not be read. */
  readonly config?: unknown;
  /** The config.json in the model cache, where `config` is another one that says less. */
  readonly cachedConfig?: unknown;
  /** Why it could not be read. */
  readonly problem?: string;
  /** Size of the weights in GB (10^9 bytes), by the index of the snapshot. */
  readonly weightsGB?: number;
  /** What the catalogue says of its weights; it counts where the machine says nothing. */
  readonly catalogue?: CatalogueWeights;
  /** Where the config is from, if it isn't the model's own. */
  readonly assumedFrom?: string;
  /** Starts of this model that somebody published, each with what it ran with. */
  readonly starts?: Omit<ModelStarts, "model">;
  /** Settings that its recipe has and somebody reported against. */
  readonly disputed?: readonly Disputed[];
  /** How fast this model was seen to answer, according to its recipe. */
  readonly speeds?: PublishedSpeeds;
  /** How fast this model reads prompts on such a machine, according to its recipe. */
  readonly prefill?: { readonly tokensPerSecond: number; readonly source: string };
}

/** Speeds of a model that its recipe names, and what the recipe's server has. */
export interface PublishedSpeeds {
  /** Of one answer alone, with the recipe's values. */
  readonly decode: readonly PublishedSpeed[];
  /** The recipe's settings on which a speed depends, as a server's block has them. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** The image that the recipe's server needs, if it isn't vLLM's own. */
  readonly image?: string;
  /** The recipe's drafts, which are only written on request. */
  readonly draft?: Drafts;
  readonly machines: number;
}

/** Draft tokens of a server, and what writes them. */
export interface Drafts {
  readonly method: string;
  readonly model?: string | undefined;
  readonly numSpeculativeTokens: number;
}

/** One such speed, and by whom. */
export interface PublishedSpeed {
  readonly tokensPerSecond: number;
  readonly source: string;
  readonly date: string;
  readonly vllm?: string;
  readonly drafts?: number | "unstated";
}

/** A setting of a model that was reported for and against. */
export interface Disputed {
  /** Dotted path below the server in a stack file. */
  readonly setting: string;
  /** The value that both speak of; of a group, the keys that count. */
  readonly value: unknown;
  /** What was seen, and who says it. */
  readonly against: string;
  readonly for: string;
  /** The last vLLM of which it was reported. */
  readonly upTo?: string;
}

/** The weights of a model by the catalogue. */
export interface CatalogueWeights {
  /** Size on disk in GB (10^9 bytes). */
  readonly weightsGB?: number;
  /** What they take once loaded, in GiB. */
  readonly residentGiB?: number;
  /** Whether the figure is only a judgement. Nothing is refused because of it. */
  readonly judged: boolean;
}
