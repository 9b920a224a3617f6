// Runs one of our programs: from its bundle in dist/, or from source where the bundle was made from
// other sources. An installed package has no sources.
const { existsSync, readFileSync, statSync } = require("node:fs");
const { dirname } = require("node:path");
const { Script } = require("node:vm");

const ROOT = dirname(__dirname);
const DIST = `${ROOT}/dist`;

/** Our programs by name, and the source that each starts from. */
const PROGRAMS = {
  program: "index.ts",
  policies: "policies/index.ts",
  serving: "operate/serving.ts",
  plan: "operate/servingPlan.ts",
};

/** Runs a program and returns what it exports. */
async function run(name) {
  if (!existsSync(`${ROOT}/${PROGRAMS[name]}`)) return runPacked(name);
  if (isFresh(name)) return load(name, readFileSync(`${DIST}/${name}.cache`)).start();
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
  if (!existsSync(`${ROOT}/${PROGRAMS[name]}`)) return runPacked(name);
  if (isFresh(name)) return load(name, readFileSync(`${DIST}/${name}.cache`)).start();
  throw new Error(`dist/ of ${ROOT} is missing or out of date. \`npm run build\` there makes it.`);
}

/** The engine ends these processes itself: they never come to their exit. */
const RUN_BY_ENGINE = new Set(["program", "policies"]);

/** Runs the bundle of an installed package, and keeps its compiled code at the first run. */
function runPacked(name) {
  const { compiledFile, readCompiled, keepCompiled } = require("./compiled.cjs");
  const { version } = JSON.parse(readFileSync(`${ROOT}/package.json`, "utf8"));
  const { hash } = JSON.parse(readFileSync(`${DIST}/${name}.json`, "utf8"));
  const file = compiledFile(name, version, hash);
  const compiled = file && readCompiled(file);
  const { script, start } = load(name, compiled);
  const isNew = file !== undefined && (compiled === undefined || script.cachedDataRejected);
  const exported = start();
  if (!isNew) return exported;
  if (RUN_BY_ENGINE.has(name)) keepCompiled(file, script);
  else process.on("exit", () => keepCompiled(file, script));
  return exported;
}

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

/**
 * A bundle, ready to start. `cachedData` saves compiling it; another version of Node ignores it.
 */
function load(name, cachedData) {
  const filename = `${DIST}/${name}.cjs`;
  // build.cjs wrote it so.
  const script = new Script(readFileSync(filename, "latin1"), { filename, cachedData });
  const start = () => {
    const module = { exports: {} };
    script.runInThisContext()(module.exports, requireLater, module, filename, DIST);
    return module.exports;
  };
  return { script, start };
}

/** Parts of Node that take milliseconds to load, and of which many a command uses nothing. */
const LOADED_LATER = new Set([
  "node:child_process",
  "node:crypto",
  "node:fs/promises",
  "node:module",
  "node:readline/promises",
]);

/** `require` for a bundle. Of these parts it hands out a stand-in that loads at the first use. */
const requireLater = (id) =>
  LOADED_LATER.has(id) ? new Proxy({}, { get: (_, name) => require(id)[name] }) : require(id);

module.exports = { run, runNow, load, stampOf, hashOf, PROGRAMS, ROOT, DIST };
