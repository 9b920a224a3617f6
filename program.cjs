// The program that the engine runs; Pulumi.yaml names it. Its source is index.ts.
module.exports = async () => (await require("./bundle/run.cjs").run("program"))();
