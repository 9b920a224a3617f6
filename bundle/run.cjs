// Runs one of our programs: from its bundle in dist/, or from source where the bundle was made from
// other sources. An installed package has no sources.
const { existsSync, readFileSync, statSync } = require("node:fs");
const { enableCompileCache, flushCompileCache } = require("node:module");
const { dirname, isAbsolute } = require("node:path");

const ROOT = dirname(__dirname);
const DIST = `${ROOT}/dist`;

/** Our programs by name, and the source that each starts from. */
const PROGRAMS = {
  program: "index.ts",
  policies: "policies/index.ts",
  serving: "cli/serving.ts",
  plan: "cli/servingPlan.ts",
};

/** Runs a program and returns what it exports. */
async function run(name) {
  if (isBuilt(name)) return runCompiled(name);
  await import("tsx").catch(() => {
    process.stderr.write("Packages are missing. Run `npm ci` first.\n");
    process.exit(2);
  });
  process.stderr.write(
    "Running from source: dist/ is missing or out of date. `npm run build` makes it.\n",
  );
  return require(`${ROOT}/${PROGRAMS[name]}`);
}

/** What a program of ours exports, for a module that is required by somebody else's. */
function runNow(name) {
  if (isBuilt(name)) return require(`${DIST}/${name}.cjs`);
  throw new Error(`dist/ of ${ROOT} is missing or out of date. \`npm run build\` there makes it.`);
}

/**
 * Runs a bundle. Node keeps what it compiled in the user's cache folder; Node 20 can't. That folder is
 * the user's own, and each user has a part of it, so no other user's code is run.
 */
function runCompiled(name) {
  const { XDG_CACHE_HOME, HOME } = process.env;
  const caches = XDG_CACHE_HOME || `${HOME}/.cache`;
  if (isAbsolute(caches)) enableCompileCache?.(`${caches}/local-serving`);
  const exported = require(`${DIST}/${name}.cjs`);
  // The engine ends the programs that it runs, so they never come to their exit.
  flushCompileCache?.();
  return exported;
}

const isBuilt = (name) => !existsSync(`${ROOT}/${PROGRAMS[name]}`) || isFresh(name);

/**
 * Whether the bundle was made from the sources as they are. Sizes and times are compared first,
 * since that is quicker.
 */
function isFresh(name) {
  try {
    const { files, stamp, hash } = JSON.parse(readFileSync(`${DIST}/${name}.json`, "utf8"));
    return stampOf(files) === stamp || hashOf(files) === hash;
  } catch {
    return false; // There is no bundle, or one of its sources is gone.
  }
}

/** Sizes and times of files. */
function stampOf(files) {
  return files
    .map((file) => statSync(`${ROOT}/${file}`))
    .map(({ size, mtimeMs }) => `${size} ${mtimeMs}`)
    .join();
}

/** A hash over names and contents of files. */
function hashOf(files) {
  const hash = require("node:crypto").createHash("sha256");
  for (const file of files) {
    const content = readFileSync(`${ROOT}/${file}`);
    hash.update(`${file} ${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}

module.exports = { run, runNow, stampOf, hashOf, PROGRAMS, ROOT, DIST };
