import { describe, expect, it } from "vitest";
import { togetherText } from "../../../cli/plan/togetherText";
import { plannedOnDemand } from "../../fixtures/onDemand";

describe("servers that start on request", () => {
  const heading = (more: Record<string, unknown>) =>
    togetherText(plannedOnDemand(more).machine, () => undefined, 100)[0];

  it("are headed by the memory that is left for them, or by the word that none is", () => {
    expect(heading({})).toContain(
      "Started on request, in the 102.69 GiB left beside what always runs",
    );
    expect(heading({ operatingSystemGiB: 400 })).toContain(
      "Started on request, and what always runs leaves nothing for it",
    );
  });
});
