import { expect, test } from "vitest";
import { coverageFailures } from "../../gates/coverageGate";

const base = (line_pct: number | null, branch_pct: number | null) => ({
  commit: "c0ffee",
  line_pct,
  branch_pct,
});

test.each([
  ["at the floor", { min_line_pct: 80 }, [80, null], null, []],
  [
    "below the floor",
    { min_line_pct: 80 },
    [79.999, null],
    null,
    ["line coverage is 79.99 %, below its floor of 80 %"],
  ],
  ["a metric without a floor is not judged", { min_line_pct: 80 }, [90, 0], null, []],
  [
    "both floors",
    { min_line_pct: 80, min_branch_pct: 70 },
    [70, 60],
    null,
    [
      "line coverage is 70 %, below its floor of 80 %",
      "branch coverage is 60 %, below its floor of 70 %",
    ],
  ],
  [
    "a floor under a metric that is not there",
    { min_branch_pct: 1 },
    [90, null],
    null,
    ["1 % branch coverage is required, and the artifact has none"],
  ],
  [
    "a floor of 0 needs the metric too",
    { min_branch_pct: 0 },
    [90, null],
    null,
    ["0 % branch coverage is required, and the artifact has none"],
  ],
  [
    "regression within its points",
    { min_line_pct: 50, max_regression_pct: 5 },
    [85.3, null],
    base(90.3, null),
    [],
  ],
  [
    "regression beyond its points",
    { min_line_pct: 50, max_regression_pct: 5 },
    [85.2, null],
    base(90.3, null),
    ["line coverage fell by 5.1 percentage points, from 90.3 % to 85.2 %; 5 are allowed"],
  ],
  [
    "points, not shares: 10 to 9 is one point",
    { min_line_pct: 1, max_regression_pct: 1 },
    [9, null],
    base(10, null),
    [],
  ],
  [
    "no regression at all allowed",
    { min_line_pct: 1, max_regression_pct: 0 },
    [9, null],
    base(9, null),
    [],
  ],
  [
    "regression of a metric without a floor is not judged",
    { min_line_pct: 1, max_regression_pct: 0 },
    [50, 10],
    base(50, 90),
    [],
  ],
  [
    "floor and regression together",
    { min_line_pct: 80, max_regression_pct: 1 },
    [70, null],
    base(90, null),
    [
      "line coverage is 70 %, below its floor of 80 %",
      "line coverage fell by 20 percentage points, from 90 % to 70 %; 1 are allowed",
    ],
  ],
  [
    "a baseline without the metric",
    { min_branch_pct: 10, max_regression_pct: 1 },
    [70, 50],
    base(90, null),
    ["the baseline has no branch coverage, so it can't be compared"],
  ],
])("%s", (_, floors, [line_pct, branch_pct], baseline, expected) => {
  expect(
    coverageFailures(
      floors,
      { line_pct: line_pct ?? null, branch_pct: branch_pct ?? null },
      baseline,
    ),
  ).toEqual(expected);
});
