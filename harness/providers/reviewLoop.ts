/** Bounds of the gating review loop: the `review` block of the automation config. */
export interface LoopBounds {
  /** `review.max_rounds`: rounds of one attempt. */
  readonly maxRounds: number;
  /** `review.loop_timeout_sec`: wall-clock budget over all rounds, in seconds. */
  readonly loopTimeoutSec: number;
}

/** Where a review loop stands. Times are in seconds on any one clock. */
export interface ReviewLoop {
  readonly bounds: LoopBounds;
  /** Rounds that were begun in this attempt. */
  readonly rounds: number;
  /** When the budget began to run; `undefined` while the run is parked. */
  readonly since: number | undefined;
}

/** Whether another round may begin, and if not, what stops it. */
export type RoundDecision =
  | { readonly kind: "begin"; readonly loop: ReviewLoop }
  | { readonly kind: "stop"; readonly reason: "max_rounds" | "loop_timeout" | "parked" };

/** A new attempt: no rounds yet, the whole budget ahead. */
export function startLoop(bounds: LoopBounds, now: number): ReviewLoop {
  return { bounds, rounds: 0, since: now };
}

/** Parks the run, for instance until a person answers; its clock stands still. */
export function parkLoop(loop: ReviewLoop): ReviewLoop {
  return { ...loop, since: undefined };
}

/** Resumes a parked run: the wall-clock budget starts anew, the rounds of the attempt do not. */
export function resumeLoop(loop: ReviewLoop, now: number): ReviewLoop {
  return loop.since === undefined ? { ...loop, since: now } : loop;
}

/** Seconds of the loop's budget that are left, never below zero; all of them while parked. */
export function remainingSec(loop: ReviewLoop, now: number): number {
  if (loop.since === undefined) return loop.bounds.loopTimeoutSec;
  return Math.max(0, loop.bounds.loopTimeoutSec - Math.max(0, now - loop.since));
}

/** Begins the next round, or says what forbids it. */
export function nextRound(loop: ReviewLoop, now: number): RoundDecision {
  if (loop.since === undefined) return { kind: "stop", reason: "parked" };
  if (loop.rounds >= loop.bounds.maxRounds) return { kind: "stop", reason: "max_rounds" };
  if (remainingSec(loop, now) <= 0) return { kind: "stop", reason: "loop_timeout" };
  return { kind: "begin", loop: { ...loop, rounds: loop.rounds + 1 } };
}

/**
 * Whole seconds that one invocation may take: its provider's `timeout_sec`, and no longer than the loop still has.
 * The two are different bounds; the tighter one holds.
 */
export function invocationBound(loop: ReviewLoop, providerTimeoutSec: number, now: number): number {
  return Math.min(providerTimeoutSec, Math.floor(remainingSec(loop, now)));
}
