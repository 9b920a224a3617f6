import type { Fault } from "../../../faults/fault";
import type { FaultMaker } from "../faultAt";

/** Environment variables as a process has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The override of `review.max_rounds` from the environment, with the fault when it is no round count. */
export interface ReviewOverride {
  /** Name of the variable that was read. */
  readonly variable: string;
  /** Rounds that it sets; absent when it is unset, empty or faulty. */
  readonly rounds?: number;
  readonly faults: readonly Fault[];
}

/** Reads `<prefix>REVIEW_MAX_ROUNDS`; an empty variable counts as not set. */
export function reviewOverride(environment: Environment, prefix: string, at: FaultMaker): ReviewOverride {
  const variable = `${prefix}REVIEW_MAX_ROUNDS`;
  const text = environment[variable]?.trim();
  if (text === undefined || text === "") return { variable, faults: [] };
  const rounds = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(rounds) && rounds >= 1) return { variable, rounds, faults: [] };
  const message = `The environment variable ${variable} overrides this key and must be a whole number of at least 1.`;
  return { variable, faults: [at.error(["review", "max_rounds"], "wrong_variable", message)] };
}
