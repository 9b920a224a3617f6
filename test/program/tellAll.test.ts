import { log, runtime } from "@pulumi/pulumi";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { saidByPreview, tellAll } from "../../components/program/tellAll";
import { PACK_VARIABLE } from "../../policies/levels";

describe("what a program has to say of its plan", () => {
  const said: string[] = [];
  beforeEach(() => {
    said.length = 0;
    vi.spyOn(log, "warn").mockImplementation(async (message) => void said.push(`warn ${message}`));
    vi.spyOn(log, "info").mockImplementation(async (message) => void said.push(`info ${message}`));
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });

  it("is one message of each kind, whose first line is its heading", () => {
    tellAll("warning", "From the plan:", ["dgx: one.", "dgx: two:\nits line"]);
    tellAll("note", "Notes of the plan:", ["dgx: \u001b[31mred"]);
    expect(said).toEqual([
      "warn From the plan:\n  dgx: one.\n  dgx: two:\n  its line",
      "info Notes of the plan:\n  dgx: \ufffd[31mred",
    ]);
  });

  it("is nothing where there is nothing to say", () => {
    tellAll("warning", "From the plan:", []);
    expect(said).toEqual([]);
  });

  it.each([
    ["the preview of `serving up`", true, "/project", false],
    ["its update", false, "/project", true],
    ["the update of a plain `pulumi up`", false, undefined, false],
  ])("was said by the preview: %s", (_, preview, pack, expected) => {
    vi.spyOn(runtime, "isDryRun").mockReturnValue(preview);
    vi.stubEnv(PACK_VARIABLE, pack);
    expect(saidByPreview()).toBe(expected);
  });
});
