/** Largest sum of utilizations on one machine: the specification's limit for this hardware. */
export const AGGREGATE_LIMIT = 0.9;

/** Above this sum machines of this kind were seen to hang; the plan warns. */
export const AGGREGATE_CAUTION = 0.8;

const TEN_THOUSANDTHS = 10_000;

/** Sums and comparisons are done in whole ten-thousandths: 0.45 + 0.45 is exactly 0.90. */
export function tenThousandths(utilization: number): number {
  return Math.round(utilization * TEN_THOUSANDTHS);
}

/** Sum of utilizations, free of binary rounding. */
export function sumOfUtilizations(utilizations: readonly number[]): number {
  return utilizations.reduce((sum, each) => sum + tenThousandths(each), 0) / TEN_THOUSANDTHS;
}

/** Absorbs binary rounding in a quotient, far below the step that is suggested. */
const ROUNDING = 1e-9;

/** Rounds down to 0.01, the step in which a utilization is suggested; never below 0. */
export function downToHundredth(utilization: number): number {
  return Math.max(0, Math.floor(utilization * 100 + ROUNDING) / 100);
}
