// Prints what became of the tests, from vitest's JSON report, as one line that ends a run.
const { readFileSync } = require("node:fs");

function read(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    console.log("ci: the test run ended without a report");
    return {
      numTotalTests: 0,
      numPassedTests: 0,
      numFailedTests: 0,
      testResults: [{ status: "failed", assertionResults: [] }],
    };
  }
}

const report = read(process.argv[2]);
const passed = report.numPassedTests;
// A file that fails before its first test has no failed test in it, and counts as one.
const broken = report.testResults.filter(
  ({ status, assertionResults }) =>
    status === "failed" && assertionResults.every((test) => test.status !== "failed"),
);
const failed = report.numFailedTests + broken.length;
console.log(
  `${passed} passed, ${failed} failed, ${report.numTotalTests - passed - report.numFailedTests} skipped`,
);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
