// The program that the engine runs; Pulumi.yaml names it. Its source is index.ts.
module.exports = async () => {
  const { default: program } = await require("./run.cjs").run("program");
  if (typeof program === "function") return program();
  const { RunError } = require("@pulumi/pulumi");
  const message =
    "index.ts exports no program. It must be a function: `export default async () => { ... };`.";
  // The language host would take a stack trace apart for minutes.
  throw Object.assign(new RunError(message), { stack: message });
};
