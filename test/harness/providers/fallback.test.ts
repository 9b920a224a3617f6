import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nextReviewer, type Outcome, reviewersFor } from "../../../harness/providers/fallback";

const pairings = {
  peer_for: { codex: "local", lonely: "lonely" },
  fallback_chain: { codex: ["ollama", "local", "codex", "cloud"] },
};

describe("who reviews whom", () => {
  it.each([
    [
      "the peer, then the chain; nobody twice, never the subject",
      "codex",
      undefined,
      ["local", "ollama", "cloud"],
    ],
    ["who is named goes first", "codex", "cloud", ["cloud", "ollama", "local"]],
    ["a subject without a peer has no reviewer", "stranger", undefined, []],
    ["unless one is named", "stranger", "local", ["local"]],
    ["a subject does not review itself", "lonely", undefined, []],
    ["a name of every object's own is no subject", "constructor", undefined, []],
  ])("%s", (_, subject, named, expected) => {
    expect(reviewersFor(subject, pairings, named)).toEqual(expected);
  });
});

describe("who is asked next", () => {
  const order = ["a", "b", "c"];
  it.each<[string, [string, Outcome][], ReturnType<typeof nextReviewer>]>([
    ["the first one first", [], { kind: "ask", provider: "a" }],
    ["the next one after a failed healthcheck", [["a", "unhealthy"]], { kind: "ask", provider: "b" }],
    ["the next one after a run without a review", [["a", "no-review"]], { kind: "ask", provider: "b" }],
    ["nobody after a verdict", [["a", "verdict"]], { kind: "decided", provider: "a" }],
    [
      "also a later one's",
      [
        ["a", "unhealthy"],
        ["b", "verdict"],
      ],
      { kind: "decided", provider: "b" },
    ],
    [
      "nobody when all have had their turn",
      [
        ["a", "unhealthy"],
        ["b", "no-review"],
        ["c", "unhealthy"],
      ],
      { kind: "exhausted" },
    ],
  ])("%s", (_, turns, expected) => {
    expect(
      nextReviewer(
        order,
        turns.map(([provider, outcome]) => ({ provider, outcome })),
      ),
    ).toEqual(expected);
  });

  it("asks each one at most once and stops at the first verdict, whatever happens", () => {
    const outcome = fc.constantFrom<Outcome>("unhealthy", "no-review", "verdict");
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.string(), { maxLength: 8 }),
        fc.array(outcome, { minLength: 8 }),
        (names, fate) => {
          const turns: { provider: string; outcome: Outcome }[] = [];
          for (let next = nextReviewer(names, turns); next.kind === "ask"; next = nextReviewer(names, turns))
            turns.push({ provider: next.provider, outcome: fate[turns.length] ?? "unhealthy" });
          const verdict = fate.slice(0, names.length).indexOf("verdict");
          expect(turns.map(({ provider }) => provider)).toEqual(
            names.slice(0, verdict === -1 ? undefined : verdict + 1),
          );
        },
      ),
    );
  });
});
