import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ReviewerHealth, reviewersFor, tryReviewers } from "../../providers/reviewers";

const pairings = {
  peer_for: { codex: "local", lonely: "lonely" },
  fallback_chain: { codex: ["ollama", "local", "codex", "cloud"], stranger: ["local"] },
};

describe("who may review whom", () => {
  it.each([
    [
      "the peer, then the chain; nobody twice, never the subject",
      "codex",
      ["local", "ollama", "cloud"],
    ],
    ["nobody without a peer", "stranger", []],
    ["nobody when the subject is its own peer", "lonely", []],
    ["nobody for a name that every object has", "constructor", []],
  ])("%s", (_, subject, expected) => {
    expect(reviewersFor(subject, pairings)).toEqual(expected);
  });
});

describe("the chain that is tried", () => {
  const tried = (...outcomes: ReviewerHealth["outcome"][]) => {
    const names = ["local", "ollama", "cloud"];
    const [chain] = tryReviewers(pairings, (name) => ({
      outcome: outcomes[names.indexOf(name)] ?? "unhealthy",
      detail: "",
    }));
    return [chain?.tried.map(({ provider }) => provider), chain?.chosen];
  };

  it("is the peer alone when the peer is healthy", () => {
    expect(tried("healthy", "healthy", "healthy")).toEqual([["local"], "local"]);
  });

  it("goes on after a failed healthcheck and after a run without a review", () => {
    expect(tried("unhealthy", "no-review", "healthy")).toEqual([
      ["local", "ollama", "cloud"],
      "cloud",
    ]);
  });

  it("chooses nobody when all fail", () => {
    expect(tried("unhealthy", "unhealthy", "no-review")).toEqual([
      ["local", "ollama", "cloud"],
      null,
    ]);
  });

  it("ends at the first healthy provider, whatever the chain", () => {
    const outcome = fc.constantFrom<ReviewerHealth["outcome"]>("unhealthy", "no-review", "healthy");
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.string(), { minLength: 1 }),
        fc.array(outcome),
        (names, outcomes) => {
          const [peer = "", ...chain] = names;
          const subject = `${names.join()}!`;
          const [result] = tryReviewers(
            { peer_for: { [subject]: peer }, fallback_chain: { [subject]: chain } },
            (name) => ({ outcome: outcomes[names.indexOf(name)] ?? "unhealthy", detail: "" }),
          );
          const first = outcomes.slice(0, names.length).indexOf("healthy");
          expect(result?.chosen).toBe(first === -1 ? null : names[first]);
          expect(result?.tried.map(({ provider }) => provider)).toEqual(
            names.slice(0, first === -1 ? undefined : first + 1),
          );
        },
      ),
    );
  });
});
