#!/usr/bin/env node
// `serving`, the operator's command line.
const { pinnedProgram } = require("./pinned.cjs");

let pinned;
try {
  pinned = pinnedProgram(process.cwd());
} catch ({ message }) {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
if (pinned === undefined) require("./run.cjs").run(process.argv[2] === "plan" ? "plan" : "serving");
else require(`${pinned}/bundle/serving.cjs`);
