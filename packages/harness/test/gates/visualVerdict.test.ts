import { expect, test } from "vitest";
import { visualFailures } from "../../gates/visualGate";

const SKIPPED = (why: string) => [
  `the check did not run in full (${why}), and skip_is_failure is true`,
];

test.each([
  ["passed in full", { passed: true, mode: "full" }, [], []],
  ["passed in full, nothing skipped", { passed: true, mode: "full", skipped: [] }, [], []],
  [
    "not passed",
    { passed: false, mode: "full" },
    ["the result says that the check did not pass"],
    ["the result says that the check did not pass"],
  ],
  [
    "degraded though it reports passed",
    { passed: true, mode: "degraded", skipped: ["browser"] },
    SKIPPED("its mode is not `full`; something was skipped"),
    [],
  ],
  ["without a mode though it reports passed", { passed: true }, SKIPPED("it names no mode"), []],
  ["an empty mode", { passed: true, mode: "" }, SKIPPED("it names no mode"), []],
  ["an unknown mode", { passed: true, mode: "quick" }, SKIPPED("its mode is not `full`"), []],
  [
    "skipped though it reports passed",
    { passed: true, mode: "full", skipped: true },
    SKIPPED("something was skipped"),
    [],
  ],
  [
    "a skipped criterion",
    { passed: true, mode: "full", criteria: [{ verdict: "skip" }] },
    SKIPPED("criteria were skipped"),
    [],
  ],
  [
    "status skipped",
    { passed: true, mode: "full", status: "skipped" },
    SKIPPED("its status is skipped"),
    [],
  ],
  [
    "flag degraded",
    { passed: true, mode: "full", degraded: true },
    SKIPPED("it says degraded"),
    [],
  ],
  [
    "passed against its own criteria",
    { passed: true, mode: "full", criteria: [{ verdict: "pass" }, { verdict: "fail" }] },
    ["the result says passed although one of its criteria did not"],
    ["the result says passed although one of its criteria did not"],
  ],
  [
    "a criterion never reached",
    { passed: true, mode: "degraded", criteria: [{ verdict: "unreached" }] },
    ["the result says passed although one of its criteria did not"],
    ["the result says passed although one of its criteria did not"],
  ],
  [
    "no verdict",
    { mode: "full" },
    ["the result has no `passed` of true or false"],
    ["the result has no `passed` of true or false"],
  ],
  [
    "a verdict in text",
    { passed: "true", mode: "full" },
    ["the result has no `passed` of true or false"],
    ["the result has no `passed` of true or false"],
  ],
  ["a list", [], ["the result isn't a JSON object"], ["the result isn't a JSON object"]],
])("%s", (_, result, strict, lenient) => {
  expect(visualFailures(JSON.stringify(result), true)).toEqual(strict);
  expect(visualFailures(JSON.stringify(result), false)).toEqual(lenient);
});

test("text that is not JSON fails under any policy", () => {
  expect(visualFailures("passed", false)).toEqual(["the result is not JSON"]);
});
