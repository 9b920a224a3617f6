// The compiled code of an installed package. A package carries none, since it depends on Node's
// version and on the machine: the first run keeps it in the user's cache folder.
const {
  mkdirSync,
  openSync,
  closeSync,
  fstatSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} = require("node:fs");
const { homedir } = require("node:os");
const { dirname, isAbsolute, join } = require("node:path");

/**
 * The file for the compiled code of a program; `undefined` where the user has no folder for it. V8
 * compares no more than a source's length, so the name has a hash of the sources.
 */
function compiledFile(name, version, hash) {
  try {
    const { XDG_CACHE_HOME: named = "" } = process.env;
    const caches = isAbsolute(named) ? named : join(homedir(), ".cache");
    if (!isAbsolute(caches)) return undefined;
    const folder = `${version}-node-${process.version}-${process.platform}-${process.arch}`;
    return join(caches, "local-serving", folder, `${name}-${hash.slice(0, 16)}.cache`);
  } catch {
    return undefined; // There is no home.
  }
}

/** What was kept. Code that somebody else wrote there is not run. */
function readCompiled(file) {
  try {
    const handle = openSync(file);
    try {
      return fstatSync(handle).uid === process.getuid?.() ? readFileSync(handle) : undefined;
    } finally {
      closeSync(handle);
    }
  } catch {
    return undefined;
  }
}

/** Keeps what is compiled of a script by now, in one step. Goes without where it can't. */
function keepCompiled(file, script) {
  const part = `${file}.${process.pid}`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    try {
      writeFileSync(part, script.createCachedData(), { mode: 0o600 });
      renameSync(part, file);
    } finally {
      rmSync(part, { force: true });
    }
  } catch {
    // There is no room, or no right to write: the next run compiles anew.
  }
}

module.exports = { compiledFile, readCompiled, keepCompiled };
