import { describe, expect, it } from "vitest";
import type { ProbeResult } from "../../../operate/verify/probe";
import { summaryOf, verifyText } from "../../../operate/verify/report";

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

describe("what a person reads at the end", () => {
  it("is every verdict, each reason to skip once, and each thing to do once, faults first", () => {
    expect(verifyText(RESULTS).split("\n")).toEqual([
      "b",
      "  pass models  model",
      "  pass native  PASS",
      "               better: via: native",
      "  FAIL chat    empty",
      "               fix: the parser",
      "  FAIL tools   empty",
      "               fix: the parser",
      "  skip a chat model: completions",
      "  skip it does not think: thinking-on, thinking-off",
      "",
      "2 passed, 2 failed, 3 skipped",
      "",
      "What to do next",
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
      "               better: see below",
      "",
      "1 passed, 0 failed, 0 skipped",
      "",
      "What to do next",
      "  - memory: Record:",
      "      measured:",
      "        kvTokens: 1",
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
