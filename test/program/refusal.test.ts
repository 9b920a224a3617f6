import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { REFUSAL_VARIABLE } from "@local-serving/machines/update/variables";
import { log, runtime } from "@pulumi/pulumi";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { UpdateFinding } from "../../components/preflight/types";
import { refuse } from "../../components/program/refusal";

const finding = (name: string, verdict: UpdateFinding["verdict"]) => ({
  name,
  verdict,
  message: "why.",
  resource: "dgx",
});
const POLICIES = [finding("a", "pass"), finding("b", "warned"), finding("c", "refused")];
const MACHINE = [finding("port", "warned"), finding("memory", "refused")];

const WARNED = "From the checks before an update:";
const ALL = "Refused, and nothing was changed:\n- c: why.\n- memory: why.";

describe("what ends a program", () => {
  const said: string[] = [];
  const run = (preview: boolean) => vi.spyOn(runtime, "isDryRun").mockReturnValue(preview);
  beforeEach(() => {
    said.length = 0;
    vi.spyOn(log, "warn").mockImplementation(async (message) => void said.push(message));
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });

  it.each([false, true])(
    "is what policies refuse at preview; the machine's own refusals are announced (pack: %s)",
    (packSpeaks) => {
      run(true);
      const refusal = refuse({ policies: POLICIES, onMachine: MACHINE, packSpeaks });
      expect(refusal?.marks).toEqual(["c dgx"]);
      expect(refusal?.error).toMatchObject({
        message: "Refused, and nothing was changed:\n- c: why.",
        stack: "Refused, and nothing was changed:\n- c: why.",
      });
      expect(said).toEqual([
        `${WARNED}\n${packSpeaks ? "" : "  b: why.\n"}  port: why.`,
        "`up` would refuse this:\n  memory: why.",
      ]);
    },
  );

  it.each([true, false])(
    "is every refusal at update, whether the pack speaks or not (%s)",
    (packSpeaks) => {
      run(false);
      expect(() => refuse({ policies: POLICIES, onMachine: MACHINE, packSpeaks })).toThrow(ALL);
      expect(said).toEqual([`${WARNED}\n${packSpeaks ? "" : "  b: why.\n"}  port: why.`]);
    },
  );

  it("names the resources of what is said of several", () => {
    run(true);
    const other = { ...finding("b", "warned"), resource: "dgx2" };
    refuse({ policies: [...POLICIES, other], onMachine: [], packSpeaks: false });
    expect(said).toEqual([`${WARNED}\n  b (dgx): why.\n  b (dgx2): why.`]);
  });

  it("names the component of somebody's program", () => {
    run(false);
    const found = { policies: POLICIES, onMachine: [], packSpeaks: false, component: "box" };
    expect(() => refuse(found)).toThrow(
      "Refused, and nothing of LocalServing `box` was changed:\n- c: why.",
    );
  });

  it("goes to the file that `serving` prints last, and is one sentence before", () => {
    run(false);
    const folder = mkdtempSync(join(tmpdir(), "refusal-"));
    const file = join(folder, "refusal");
    vi.stubEnv(REFUSAL_VARIABLE, file);
    expect(() => refuse({ policies: POLICIES, onMachine: MACHINE, packSpeaks: true })).toThrow(
      /^Refused\. The last lines say why\.$/,
    );
    expect(readFileSync(file, "utf8")).toBe(ALL);
    rmSync(folder, { recursive: true });
  });

  it.each([true, false])("is nothing where all passes (preview: %s)", (preview) => {
    run(preview);
    const found = { policies: [finding("a", "pass")], onMachine: [], packSpeaks: false };
    expect(refuse(found)).toBeUndefined();
    expect(said).toEqual([]);
  });
});
