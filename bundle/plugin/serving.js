// What the plugin's component is made with, as it lies in plugin/ of the package. Its source is index.ts there, its types
// are in serving.d.ts.
module.exports = { Serving: require("../bundle/run.cjs").runNow("program").Serving };
