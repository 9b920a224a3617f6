// The policy pack that the engine loads; package.json names it. Its source is index.ts.
require("../bundle/run.cjs").run("policies");
