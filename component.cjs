// What the package gives to Pulumi programs of others. Its source is index.ts, its types are in
// component.d.ts.
const { LocalServing, Serving } = require("./bundle/run.cjs").runNow("program");

module.exports = { LocalServing, Serving };
