import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readCoverage, UnreadableCoverage } from "../../gates/coverageReport";

const FIXTURES = join(__dirname, "../fixtures/coverage");
const fixture = (name: string) => readFileSync(join(FIXTURES, name), "utf8");
const summary = (total: unknown) => JSON.stringify({ total });
const record = (...lines: string[]) => [...lines, "end_of_record", ""].join("\n");

describe("istanbul", () => {
  test("reads a file that nyc 17 wrote (istanbul's json-summary)", () => {
    expect(readCoverage("istanbul", fixture("coverage-summary.json"))).toEqual({
      line_pct: 60,
      branch_pct: 100 / 3,
    });
  });
  test.each([
    ["lines alone", { lines: { pct: 71.5 } }, { line_pct: 71.5, branch_pct: null }],
    [
      "no branches to cover is no coverage, not 100",
      { lines: { pct: 80 }, branches: { total: 0, covered: 0, pct: 100 } },
      { line_pct: 80, branch_pct: null },
    ],
    [
      "an unknown percentage",
      { lines: { pct: 80 }, branches: { total: 0, pct: "Unknown" } },
      { line_pct: 80, branch_pct: null },
    ],
    [
      "a percentage that its counts contradict: the counts count",
      {
        lines: { pct: 95, total: 200, covered: 21 },
        branches: { pct: "Unknown", total: 4, covered: 1 },
      },
      { line_pct: 10.5, branch_pct: 25 },
    ],
    [
      "counts without a percentage",
      { lines: { total: 3, covered: 2 }, branches: { total: 0, covered: 0 } },
      { line_pct: 200 / 3, branch_pct: null },
    ],
    [
      "0 is a percentage",
      { lines: { pct: 0 }, branches: { pct: 0 } },
      { line_pct: 0, branch_pct: 0 },
    ],
  ])("%s", (_, total, expected) => {
    expect(readCoverage("istanbul", summary(total))).toEqual(expected);
  });
  test.each([
    ["text", "not json", "is not JSON"],
    ["a list", "[]", "has no `total`"],
    ["a full report", JSON.stringify({ "/a.ts": { s: {} } }), "has no `total`"],
    ["no lines", summary({ branches: { pct: 3 } }), "has no `total.lines`"],
    [
      "text as percentage",
      summary({ lines: { pct: "90" } }),
      "has no percentage from 0 to 100 in `total.lines.pct`",
    ],
    ["above 100", summary({ lines: { pct: 101 } }), "has no percentage from 0 to 100"],
    ["below 0", summary({ lines: { pct: -1 } }), "has no percentage from 0 to 100"],
    [
      "more covered than there is",
      summary({ lines: { pct: 90, total: 10, covered: 11 } }),
      "covers more lines than there are",
    ],
    [
      "half of the counts",
      summary({ lines: { pct: 90, total: 10 } }),
      "has no whole numbers in `total.lines.total`",
    ],
    [
      "a fraction",
      summary({ lines: { pct: 90, total: 10, covered: 9.5 } }),
      "has no whole numbers",
    ],
    [
      "less than nothing",
      summary({ lines: { pct: 90, total: -10, covered: -20 } }),
      "has no whole numbers",
    ],
    [
      "counts as text",
      summary({ lines: { pct: 90, total: "10", covered: "9" } }),
      "has no whole numbers",
    ],
    [
      "a percentage of the prototype",
      '{"__proto__": {"total": {"lines": {"pct": 90}}}}',
      "has no `total`",
    ],
  ])("refuses %s", (_, text, message) => {
    expect(() => readCoverage("istanbul", text)).toThrow(message);
  });
});

describe("lcov", () => {
  test("reads a file that Node's own lcov reporter wrote for three sources", () => {
    // LF 2 + 1 + 12, LH 2 + 1 + 8; BRF 4 + 3 + 4, BRH 4 + 2 + 3.
    expect(readCoverage("lcov", fixture("lcov.info"))).toEqual({
      line_pct: (100 * 11) / 15,
      branch_pct: (100 * 9) / 11,
    });
  });
  test.each([
    [
      "counters are summed over records",
      record("SF:a", "LF:10", "LH:10") + record("SF:b", "LF:30", "LH:10"),
      { line_pct: 50, branch_pct: null },
    ],
    [
      "without counters the lines are counted",
      record("SF:a", "DA:1,3", "DA:2,0", "BRDA:1,0,0,1", "BRDA:1,0,1,-"),
      { line_pct: 50, branch_pct: 50 },
    ],
    [
      "two tests of one file are joined line by line",
      record("SF:a", "DA:1,1", "DA:2,0", "LF:2", "LH:1") +
        record("SF:a", "DA:1,0", "DA:2,4", "LF:2", "LH:1"),
      { line_pct: 100, branch_pct: null },
    ],
    [
      "no branches found is no branch coverage",
      record("SF:a", "LF:1", "LH:1", "BRF:0", "BRH:0"),
      { line_pct: 100, branch_pct: null },
    ],
    [
      "Windows line ends",
      "SF:a\r\nLF:4\r\nLH:1\r\nend_of_record\r\n",
      { line_pct: 25, branch_pct: null },
    ],
  ])("%s", (_, text, expected) => {
    expect(readCoverage("lcov", text)).toEqual(expected);
  });
  test.each([
    ["a file without records", "TN:\n", "has no lines at all"],
    [
      "a cut record, which would hide a bad file",
      `${record("SF:a", "LF:1", "LH:1")}SF:b\nLF:100\nLH:0\n`,
      "its last record has no end_of_record",
    ],
    ["a record inside another", "SF:a\nSF:b\n", "line 2 begins a record inside another one"],
    ["an end without a beginning", "end_of_record\n", "line 1 ends a record that never began"],
    [
      "a counter that is not a number",
      record("SF:a", "LF:9junk", "LH:1"),
      "line 2 has no whole number in LF",
    ],
    [
      "a counter twice",
      record("SF:a", "LF:9", "LF:9", "LH:1"),
      "line 3 has a second LF in one record",
    ],
    ["found without hit", record("SF:a", "LF:9"), "only one of LF and LH"],
    ["more hit than found", record("SF:a", "LF:1", "LH:2"), "LH above LF"],
    [
      "two records of one file without lines",
      record("SF:a", "LF:1", "LH:1") + record("SF:a", "LF:1", "LH:0"),
      "no detail lines",
    ],
  ])("refuses %s", (_, text, message) => {
    expect(() => readCoverage("lcov", text)).toThrow(message);
  });
  test("percentages stay from 0 to 100 whatever the counters", () => {
    const counts = fc.record({
      found: fc.nat(1000),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(counts, { minLength: 1 }), (files) => {
        const sums = files.map(({ found, share }) => [found, Math.floor(found * share)] as const);
        const text = sums
          .map(([found, hit], index) => record(`SF:${index}`, `LF:${found}`, `LH:${hit}`))
          .join("");
        const found = sums.reduce((sum, [all]) => sum + all, 0);
        if (found === 0) {
          expect(() => readCoverage("lcov", text)).toThrow(UnreadableCoverage);
          return;
        }
        const hit = sums.reduce((sum, [, covered]) => sum + covered, 0);
        expect(readCoverage("lcov", text).line_pct).toBeCloseTo((100 * hit) / found, 9);
      }),
    );
  });
});

test("any text is read or refused, never a crash", () => {
  const lines = fc.array(
    fc.constantFrom(
      "SF:a",
      "DA:1,1",
      "LF:1",
      "LH:1",
      "BRF:2",
      "BRH:3",
      "end_of_record",
      "TN:x",
      "",
    ),
  );
  fc.assert(
    fc.property(
      fc.constantFrom("istanbul", "lcov"),
      fc.oneof(
        fc.string(),
        fc.json(),
        lines.map((all) => all.join("\n")),
      ),
      (format, text) => {
        try {
          const { line_pct } = readCoverage(format, text);
          expect(line_pct === null || (line_pct >= 0 && line_pct <= 100)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(UnreadableCoverage);
        }
      },
    ),
    { numRuns: 500 },
  );
});
