import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  invocationBound,
  nextRound,
  parkLoop,
  remainingSec,
  resumeLoop,
  startLoop,
} from "../../../harness/providers/reviewLoop";

const bounds = { maxRounds: 2, loopTimeoutSec: 900 };

describe("the budget of a review loop", () => {
  it("allows as many rounds as an attempt has, and no more", () => {
    const first = nextRound(startLoop(bounds, 0), 0);
    const second = first.kind === "begin" ? nextRound(first.loop, 10) : first;
    expect(second).toMatchObject({ kind: "begin", loop: { rounds: 2 } });
    expect(second.kind === "begin" ? nextRound(second.loop, 20) : second).toEqual({
      kind: "stop",
      reason: "max_rounds",
    });
  });

  it.each([
    [0, 900],
    [899, 1],
    [900, 0],
    [5000, 0],
    [-10, 900],
  ])("has, %d s after its start, %d s left", (now, left) => {
    expect(remainingSec(startLoop(bounds, 0), now)).toBe(left);
  });

  it("stops when the wall clock has used it up", () => {
    expect(nextRound(startLoop(bounds, 0), 900)).toEqual({ kind: "stop", reason: "loop_timeout" });
  });

  it("begins no round while the run is parked", () => {
    expect(nextRound(parkLoop(startLoop(bounds, 0)), 1)).toEqual({ kind: "stop", reason: "parked" });
  });

  it("restarts the clock, not the rounds, when a parked run resumes", () => {
    const begun = nextRound(startLoop(bounds, 0), 0);
    const parked = begun.kind === "begin" ? parkLoop(begun.loop) : startLoop(bounds, 0);
    const resumed = resumeLoop(parked, 5000);
    expect(remainingSec(resumed, 5000)).toBe(900);
    expect(resumed.rounds).toBe(1);
  });

  it("does not restart the clock of a run that was never parked", () => {
    expect(remainingSec(resumeLoop(startLoop(bounds, 0), 600), 600)).toBe(300);
  });

  it.each([
    [300, 0, 300],
    [300, 800, 100],
    [300, 800.5, 99],
    [300, 1000, 0],
  ])("lets a provider with %d s take, at %d s, %d s", (timeout, now, bound) => {
    expect(invocationBound(startLoop(bounds, 0), timeout, now)).toBe(bound);
  });

  it("never grows but by a resume", () => {
    fc.assert(
      fc.property(fc.nat(2000), fc.nat(2000), (early, later) => {
        const loop = startLoop(bounds, 0);
        expect(remainingSec(loop, early + later)).toBeLessThanOrEqual(remainingSec(loop, early));
      }),
    );
  });
});
