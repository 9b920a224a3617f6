// Where the operator's project is. `serving` needs it before it has loaded a bundle.
const { readFileSync, statSync } = require("node:fs");
const { dirname, join, resolve } = require("node:path");

/** The key in a Pulumi.yaml that makes it ours; addresses and state of the engine hang on it. */
const OURS = /^name:[ \t]*(["']?)local-serving\1[ \t]*(?:#.*)?\r?$/m;

/** The nearest folder upward that holds a Pulumi.yaml of ours. Those of other projects are passed. */
function projectAbove(from) {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    if (isProject(folder)) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

function isProject(folder) {
  try {
    const file = join(folder, "Pulumi.yaml");
    // A pipe in its place would keep every command waiting.
    return statSync(file).isFile() && OURS.test(readFileSync(file, "utf8"));
  } catch {
    return false; // There is none, or it can't be read.
  }
}

module.exports = { projectAbove };
