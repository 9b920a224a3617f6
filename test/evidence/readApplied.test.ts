import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { readApplied } from "../../components/evidence/readEvidence";
import { plan } from "../../components/plan/plan";
import { ELSEWHERE, stack } from "../fixtures/machine";
import { temporaryFolder } from "../layers/temporaryFolder";

const home = temporaryFolder("applied-");

/** Leaves on the machine what `up` would leave of these settings, or another text in its place. */
function apply(settings = stack(), text?: string): void {
  const file = plan(settings, { home }).machines[0]?.files.find(
    ({ role }) => role === "applied-plan",
  );
  if (file === undefined) throw new Error("no applied plan");
  mkdirSync(dirname(file.path), { recursive: true });
  writeFileSync(file.path, text ?? file.text);
}

const NOTHING = { appliedWindows: {}, appliedShares: {} };

describe("the windows and shares that were applied last", () => {
  it("are none before the first update", () => {
    expect(readApplied(stack(), home)).toEqual(NOTHING);
  });

  it("are read from the plan that `up` leaves", () => {
    apply(stack({}, { maxModelLen: 131_072, gpuMemoryUtilization: 0.4 }));
    expect(readApplied(stack(), home)).toEqual({
      appliedWindows: { dgx: { b: 131_072 } },
      appliedShares: { dgx: { b: 0.4 } },
    });
  });

  it("count for the same model on this machine only", () => {
    apply();
    expect(readApplied(stack({}, { model: { id: "org/other" } }), home)).toEqual(NOTHING);
    expect(readApplied(stack({ dockerHost: ELSEWHERE }), home)).toEqual(NOTHING);
  });

  it.each(["", "{", "[]", '{"machine": {"inferenceServers": "b"}}'])(
    "are unknown where it is %j",
    (text) => {
      apply(stack(), text);
      expect(readApplied(stack(), home)).toEqual(NOTHING);
    },
  );
});
