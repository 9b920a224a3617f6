import dropped from "./droppedVariables.json";

/** Variables of the same fate. */
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

const fateOf = (name: string) => VARIABLES.find(({ names }) => names.includes(name));
