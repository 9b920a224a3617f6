import { log, runtime } from "@pulumi/pulumi";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { UpdateFinding } from "../../components/preflight/types";
import { refuse } from "../../components/program/refusal";

const finding = (name: string, verdict: UpdateFinding["verdict"]) => ({
  name,
  verdict,
  message: "why.",
});
const POLICIES = [finding("a", "pass"), finding("b", "warned"), finding("c", "refused")];
const MACHINE = [finding("port", "warned")];

const WARNED = "From the checks before an update:";

describe("what ends a program before its first resource", () => {
  const said: string[] = [];
  const run = (preview: boolean) => vi.spyOn(runtime, "isDryRun").mockReturnValue(preview);
  beforeEach(() => {
    said.length = 0;
    vi.spyOn(log, "warn").mockImplementation(async (message) => void said.push(message));
  });
  afterEach(() => void vi.restoreAllMocks());

  it("announces a refusal at preview, and stops nothing", () => {
    run(true);
    refuse(POLICIES, MACHINE, false);
    expect(said).toEqual([
      `${WARNED}\n  b: why.\n  port: why.`,
      "`up` would refuse this:\n  c: why.",
    ]);
  });

  it("leaves the policies' findings to the pack where one runs", () => {
    run(true);
    refuse(POLICIES, MACHINE, true);
    expect(said).toEqual([`${WARNED}\n  port: why.`]);
  });

  it.each([true, false])(
    "stops an update with every refusal, whether the pack speaks or not (%s)",
    (pack) => {
      run(false);
      const machine = [...MACHINE, finding("memory", "refused")];
      expect(() => refuse(POLICIES, machine, pack)).toThrow(
        "Refused, and nothing was changed:\n- c: why.\n- memory: why.",
      );
      expect(said).toEqual([`${WARNED}\n${pack ? "" : "  b: why.\n"}  port: why.`]);
    },
  );

  it("says nothing of what passes", () => {
    run(false);
    refuse([finding("a", "pass")], [], false);
    expect(said).toEqual([]);
  });
});
