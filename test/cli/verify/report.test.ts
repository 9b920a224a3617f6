import { describe, expect, it } from "vitest";
import type { Cause } from "../../../cli/rules/report";
import type { ProbeResult } from "../../../cli/verify/probe";
import { summaryOf, verifyText } from "../../../cli/verify/report";

const result = (
  name: string,
  status: ProbeResult["status"],
  detail: string,
  fix = "",
): ProbeResult => ({
  name,
  status,
  detail,
  fix,
  target: "b",
  seconds: 0,
});

const RESULTS = [
  result("models", "pass", "model"),
  result("native", "pass", "PASS", "via: native"),
  result("chat", "fail", "empty", "the parser"),
  result("tools", "fail", "empty", "the parser"),
  result("completions", "skip", "a chat model"),
  result("thinking-on", "skip", "it does not think"),
  result("thinking-off", "skip", "it does not think"),
];

/** The lines of these results, down to what to do next. */
const VERDICTS = [
  "b",
  "  pass models  model",
  "  pass native  PASS",
  "  FAIL chat    empty",
  "  FAIL tools   empty",
  "  skip a chat model: completions",
  "  skip it does not think: thinking-on, thinking-off",
  "",
  "2 passed, 2 failed, 3 skipped",
  "",
  "What to do next",
];

describe("what a person reads at the end", () => {
  it("is every verdict with its reason, and below them each thing to do once, faults first", () => {
    expect(verifyText(RESULTS).split("\n")).toEqual([
      ...VERDICTS,
      "  - chat, tools: the parser",
      "  - native: via: native",
    ]);
  });

  it("has lines to copy once, under what to do next, each below the one before", () => {
    const text = verifyText([
      result("memory", "pass", "4.61 GiB", "Record:\n  measured:\n    kvTokens: 1"),
    ]);
    expect(text.split("\n")).toEqual([
      "b",
      "  pass memory  4.61 GiB",
      "",
      "1 passed, 0 failed, 0 skipped",
      "",
      "What to do next",
      "  - memory: Record:",
      "      measured:",
      "        kvTokens: 1",
    ]);
  });

  it("says a cause once, above, with what to do about it", () => {
    const cause: Cause = {
      ...{ target: "b", id: "key-wanted", severity: "trouble", probes: ["chat", "tools"] },
      ...{ cause: "The server wants a key.", advice: "Apply it.", evidence: "probe chat: 401" },
      ...{ change: "Apply it.", edits: [], command: "serving up", source: "seen" },
      ...{ caughtByPlan: false, caughtBy: "nothing" },
    };
    const explained = RESULTS.map((each) =>
      each.status === "fail"
        ? { ...each, fix: "See chat: it has the cause.", cause: cause.id }
        : each,
    );
    const text = verifyText(explained, [cause]);
    expect(text.split("\n")).toEqual([
      "key-wanted: The server wants a key.",
      "  evidence   probe chat: 401",
      "  explains   chat, tools of b",
      "  change     Apply it.",
      "  next       serving up",
      "  caught by  nothing",
      "  source     seen",
      "",
      ...VERDICTS,
      "  - native: via: native",
    ]);
    expect(summaryOf(explained, [cause]).next).toEqual([
      "chat, tools: The server wants a key. Apply it.",
      "native: via: native",
    ]);
  });

  it("names the target of a step where another target has a probe of that name", () => {
    const other = { ...result("chat", "pass", "hello"), target: "c" };
    const steps = (...results: ProbeResult[]) =>
      verifyText(results).split("What to do next\n")[1]?.split("\n");
    expect(steps(...RESULTS, other)).toEqual([
      "  - chat (b), tools: the parser",
      "  - native: via: native",
    ]);
    const skipped = { ...other, status: "skip" as const };
    expect(steps(...RESULTS, skipped)).toEqual([
      "  - chat, tools: the parser",
      "  - native: via: native",
    ]);
  });

  it("is counted", () => {
    expect(summaryOf(RESULTS)).toEqual({
      pass: 2,
      fail: 2,
      skip: 3,
      next: ["chat, tools: the parser", "native: via: native"],
    });
  });
});
