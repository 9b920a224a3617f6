#!/usr/bin/env node
// `serving`, the operator's command line.
require("./run.cjs").run("serving");
