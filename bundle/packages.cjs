// Makes dist/packages/kv and dist/packages/harness: each can be packed, and installed alone.
const { spawnSync } = require("node:child_process");
const {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} = require("node:fs");
const { join, relative } = require("node:path");
const { DIST, ROOT } = require("./run.cjs");

/** Fields of the repository's own manifest that a package alone has as well. */
const { engines, license, version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

const ALONE = {
  harness: {
    entry: "bin.ts",
    manifest: { bin: { harness: "dist/harness.cjs" } },
    more: writePages,
  },
  kv: {
    entry: "index.ts",
    // Its types are written with zod's.
    manifest: { main: "dist/kv.cjs", types: "types/kv/index.d.ts", dependencies: pinned("zod") },
    more: writeTypes,
  },
};

async function buildPackages() {
  for (const [name, { entry, manifest, more }] of Object.entries(ALONE)) {
    const source = join(ROOT, "packages", name);
    const folder = join(DIST, "packages", name);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    await require("esbuild").build({
      absWorkingDir: source,
      entryPoints: { [name]: entry },
      bundle: true,
      platform: "node",
      target: "node20",
      minifySyntax: true,
      minifyWhitespace: true,
      banner: manifest.bin === undefined ? {} : { js: "#!/usr/bin/env node" },
      // Its programs find what lies beside them one folder above.
      outdir: join(folder, "dist"),
      outExtension: { ".js": ".cjs" },
    });
    const { description } = JSON.parse(readFileSync(join(source, "package.json"), "utf8"));
    const written = { name: `@local-serving/${name}`, version, description, license, engines };
    writeFileSync(
      join(folder, "package.json"),
      JSON.stringify({ ...written, ...manifest }, null, 2),
    );
    copyFileSync(join(source, "README.md"), join(folder, "README.md"));
    copyFileSync(join(ROOT, "LICENSE"), join(folder, "LICENSE"));
    more(source, folder);
  }
}

/** Templates and words are read from beside the bundle; the pages and schemas are made with it. */
function writePages(source, folder) {
  for (const part of ["templates", "reference"])
    for (const file of readdirSync(join(source, part)).filter((each) => !each.endsWith(".ts")))
      copyFileSync(join(source, part, file), join(folder, "dist", file));
  const pages = ["reference", "--out", join(folder, "docs/reference")];
  run(process.execPath, [join(folder, "dist/harness.cjs"), ...pages]);
}

/** TypeScript's own declarations, with what they import of the package below. */
function writeTypes(source, folder) {
  const types = join(folder, "types");
  const options = ["--noEmit", "false", "--declaration", "--emitDeclarationOnly"];
  const project = join(folder, "tsconfig.json");
  const config = {
    extends: relative(folder, join(ROOT, "tsconfig.json")),
    // Found through node_modules, a package would be somebody else's and get no types written.
    compilerOptions: { paths: { "@local-serving/*": [join(ROOT, "packages", "*")] } },
    include: [],
    files: [join(source, "index.ts")],
  };
  writeFileSync(project, JSON.stringify(config));
  const roots = ["--rootDir", join(ROOT, "packages"), "--outDir", types];
  run(process.execPath, [
    require.resolve("typescript/bin/tsc"),
    "-p",
    project,
    ...options,
    ...roots,
  ]);
  rmSync(project);
  for (const file of readdirSync(types, { recursive: true }).filter((each) =>
    each.endsWith(".ts"),
  )) {
    const path = join(types, file);
    const up = relative(join(path, ".."), types);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replaceAll(/(["'])@local-serving\//g, `$1${up}/`));
  }
}

function run(program, args) {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: ROOT, encoding: "utf8" });
  if (status !== 0) throw new Error(`${args.join(" ")} failed:\n${stdout}${stderr}`);
}

function pinned(name) {
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  return { [name]: devDependencies[name] };
}

buildPackages();
