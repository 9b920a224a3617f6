import { defined } from "../../faults/defined";
import type { AutomationConfig } from "./schema";

export type Environment = Readonly<Record<string, string | undefined>>;

/** What the environment says of `review.max_rounds`. */
export interface ReviewOverride {
  readonly variable: string;
  /** Rounds that it sets; absent when it is unset, empty or faulty. */
  readonly rounds?: number;
  readonly wrong?: string;
}

/** Reads `<prefix>REVIEW_MAX_ROUNDS`. An empty variable counts as not set. */
export function reviewOverride(environment: Environment, prefix: string): ReviewOverride {
  const variable = `${prefix}REVIEW_MAX_ROUNDS`;
  const text = environment[variable]?.trim() ?? "";
  if (text === "") return { variable };
  const rounds = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(rounds) && rounds >= 1) return { variable, rounds };
  const wrong = `The environment variable ${variable} overrides this key and must be a whole number of at least 1.`;
  return { variable, wrong };
}

export function reviewLimits(
  review: AutomationConfig["review"],
  { rounds }: ReviewOverride,
): AutomationConfig["review"] {
  return { ...review, ...defined({ max_rounds: rounds }) };
}

/** The resolved limits in words, with the variable that set one. */
export function reviewLimitsText(
  { max_rounds, loop_timeout_sec }: AutomationConfig["review"],
  { variable, rounds }: ReviewOverride,
): string {
  const source = rounds === undefined ? "" : ` (from ${variable})`;
  return `review: at most ${max_rounds} rounds per attempt${source}, ${loop_timeout_sec} s for all rounds together`;
}
