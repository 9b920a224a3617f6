// What the package gives to Pulumi programs of others. Its source is index.ts, its types are in
// component.d.ts.
module.exports = { LocalServing: require("./run.cjs").runNow("program").LocalServing };
