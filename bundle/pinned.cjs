// Which local-serving a folder pins: a global `serving` hands over to it, as a linter does.
const { readFileSync, realpathSync, statSync } = require("node:fs");
const { join, resolve } = require("node:path");
const { projectAbove } = require("./project.cjs");
const { ROOT } = require("./run.cjs");

const NAME = "local-serving";

/**
 * The folder of the program that the project around a folder has installed; `undefined` where this
 * one is meant. Throws one sentence where another version is pinned and not installed.
 */
function pinnedProgram(from) {
  const project = projectAbove(from);
  // A clone is its own program.
  if (project === undefined || project === ROOT) return undefined;
  const installed = realPath(join(project, "node_modules", NAME));
  if (installed !== undefined) return installed === ROOT ? undefined : installed;
  const { dependencies, devDependencies } = readPackage(project);
  const pin = devDependencies?.[NAME] ?? dependencies?.[NAME];
  const { version } = readPackage(ROOT);
  if (pin === undefined || isVersion(pin, version) || isHere(project, pin)) return undefined;
  throw new Error(
    `${project} pins ${NAME} ${pin}, which isn't installed there, and this is ${version}. Run \`npm install\` there first.`,
  );
}

/** Whether a pin names this version, by itself or as the tarball of it. */
const isVersion = (pin, version) => pin === version || pin.endsWith(`/${NAME}-${version}.tgz`);

const isHere = (project, pin) =>
  pin.startsWith("file:") && realPath(resolve(project, pin.slice("file:".length))) === ROOT;

function realPath(path) {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function readPackage(folder) {
  try {
    const file = join(folder, "package.json");
    // A pipe in its place would keep every command waiting.
    return statSync(file).isFile() ? JSON.parse(readFileSync(file, "utf8")) : {};
  } catch {
    return {}; // npm says what is wrong with it.
  }
}

module.exports = { pinnedProgram };
