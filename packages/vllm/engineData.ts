import { join } from "node:path";
import droppedFlags from "./droppedFlags.json";
import dropped from "./droppedVariables.json";
import { versionFolder } from "./versionFolder";

/**
 * What one version of `vllm serve` takes. `npm run engine-data -- VERSION` reads it out of the
 * wheel.
 */
export interface EngineData {
  readonly version: string;
  readonly madeBy: Readonly<Record<"command" | "date" | "wheel" | "sha256", string>>;
  /** The classes of models that it has, as a config.json names them in `architectures`. */
  readonly architectures: readonly string[];
  /** Options without a value, by name, with the spellings that turn each off. */
  readonly switches: Readonly<Record<string, readonly string[]>>;
  /** Options that take one value or more. */
  readonly lists: readonly string[];
  /** Options that take one value. */
  readonly values: readonly string[];
  /** Other spellings of an option, with their dashes, and its name. */
  readonly aliases: Readonly<Record<string, string>>;
  /**
   * The values that an option takes; `speculative-config.method` is a key of an option that takes
   * JSON.
   */
  readonly choices: Readonly<Record<string, readonly string[]>>;
  /** Options whose choices may be written in any case, and with dashes for underscores. */
  readonly anyCase: readonly string[];
  /** The environment variables `VLLM_...`. */
  readonly variables: readonly string[];
}

const FOLDER = join(__dirname, "engine-data");
const { versions, versionData: dataOf } = versionFolder(FOLDER);

/** Every version that there is data of, oldest first. */
export const engineVersions = versions;

/** The data of exactly this version, which vLLM's own parser was asked for. */
export const engineData = (version: string) => dataOf(version) as EngineData | undefined;

/** The versions of the data that have one of these classes of models, oldest first. */
export const versionsWithModel = (architectures: readonly string[]): readonly string[] =>
  engineVersions().filter((version) =>
    engineData(version)?.architectures.some((each) => architectures.includes(each)),
  );

/** The data of the newest version, for a server whose own version is not known. */
export function newestEngineData(): EngineData {
  const data = engineData(engineVersions().at(-1) ?? "");
  if (data === undefined) throw new Error(`There is no engine data in ${FOLDER}.`);
  return data;
}

/** Variables that were dropped or replaced in the same way. */
interface Variables {
  /** The last release that had them; without it, one of engine-data/ still has. */
  readonly last?: string;
  /** The option of `vllm serve` that took their place, as vLLM said while it still took both. */
  readonly option?: string;
  readonly names: readonly string[];
}

const VARIABLES: readonly Variables[] = dropped.variables;

/** Every variable that no version of engine-data/ has any more. */
export const droppedVariables: readonly string[] = VARIABLES.flatMap(({ last, names }) =>
  last === undefined ? [] : names,
);

/** The last release that had a dropped variable. */
export const lastReleaseWith = (name: string) => fateOf(name)?.last;

/** The option of `vllm serve` that took a variable's place. */
export const optionInsteadOf = (name: string) => fateOf(name)?.option;

/** The option of `vllm serve` that took a flag's place, both without their dashes. */
export const optionInsteadOfFlag = (flag: string): string | undefined =>
  droppedFlags.flags.find(({ names }) => names.includes(flag))?.option;

const fateOf = (name: string) => VARIABLES.find(({ names }) => names.includes(name));
