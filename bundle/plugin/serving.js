// What the plugin's component is made with: its source is index.ts, its types are in serving.d.ts.
// The build copies it to plugin/ at the top of the package, where the path leads to bundle/.
module.exports = { Serving: require("../bundle/run.cjs").runNow("program").Serving };
