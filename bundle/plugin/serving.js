// What the plugin's component is made with. Its source is index.ts of the package, its types are in
// serving.d.ts.
module.exports = { Serving: require("../run.cjs").runNow("program").Serving };
