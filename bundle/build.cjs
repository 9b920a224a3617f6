// Makes dist/: a bundle of each program (see run.cjs), and a list of the sources that went into it.
const { spawnSync } = require("node:child_process");
const {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  writeFileSync,
} = require("node:fs");
const { basename, join, relative } = require("node:path");
const { DIST, hashOf, PROGRAMS, ROOT, stampOf } = require("./run.cjs");

/** What each version of vLLM takes: a program reads the one that it needs. */
const ENGINES = "packages/vllm/engine-data";
const VERSIONS = "packages/vllm/versionFolder.ts";

/** The component for programs in other languages. */
const PLUGIN = join(__dirname, "plugin");

/** What is known of each model, in a folder of its own. */
const MODELS = "models";
const RECIPE = "recipe.yaml";
const READER = "components/catalogue/readCatalogue.ts";
const STARTS_READER = "components/catalogue/knownStarts.ts";

/** The engine's process and ours have to share these. */
const ENGINES_OWN = ["@pulumi/*"];

/** zod exports its messages in some 50 languages, a sixth of a bundle; all of ours are English. */
const WITHOUT_LANGUAGES = {
  name: "without-languages",
  setup: ({ onLoad }) =>
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export {};",
    })),
};

async function build() {
  rmSync(DIST, { recursive: true, force: true });
  const { metafile } = await require("esbuild").build({
    absWorkingDir: ROOT,
    entryPoints: PROGRAMS,
    bundle: true,
    platform: "node",
    target: "node20",
    external: ENGINES_OWN,
    supported: { "dynamic-import": false },
    minifySyntax: true,
    minifyWhitespace: true,
    // Read only when something crashes (packages/base/faults/bug.ts): no comment in the bundle names them.
    sourcemap: "external",
    sourcesContent: false,
    outdir: DIST,
    outExtension: { ".js": ".cjs" },
    metafile: true,
    plugins: [WITHOUT_LANGUAGES],
    logLevel: "warning",
  });
  await makeEntries();
  const recipes = await makeCatalogue();
  const texts = ["cli", "components", "packages"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true })
      .filter((file) => /\.(sh|py|md|yaml|toml)$|-template\.json$/.test(file))
      .filter((file) => !/(^|\/)(test\/|README\.md$)/.test(file))
      .map((file) => `${folder}/${file}`),
  );
  // Sources read them from their own folder.
  for (const text of texts) copyFileSync(join(ROOT, text), join(DIST, basename(text)));
  // What a package says of itself; a clone asks git.
  const { status, stdout } = spawnSync("git", ["-C", ROOT, "rev-parse", "HEAD"]);
  if (status === 0) writeFileSync(join(DIST, "commit"), stdout);
  const engines = readdirSync(join(ROOT, ENGINES), { recursive: true })
    .filter((file) => file.endsWith(".json"))
    .map((file) => `${ENGINES}/${file}`);
  await makeEngineData();
  for (const name of Object.keys(PROGRAMS)) {
    const sources = Object.keys(metafile.outputs[`dist/${name}.cjs`].inputs);
    const files = [
      ...sources.filter((file) => !file.includes("node_modules/")),
      ...texts,
      ...engines,
      ...(sources.includes(READER) ? recipes : []),
      "bundle/build.cjs",
      "package-lock.json",
    ];
    writeFileSync(
      join(DIST, `${name}.json`),
      JSON.stringify({ files, stamp: stampOf(files), hash: hashOf(files) }),
    );
  }
}

/**
 * Writes what a package has at its top, since Pulumi.yaml files and programs in use name it there.
 * The engine compiles no plugin that lies in node_modules, and reads its schema in the source
 * beside.
 */
async function makeEntries() {
  const plugin = join(ROOT, "plugin");
  mkdirSync(plugin, { recursive: true });
  for (const file of readdirSync(PLUGIN)) copyFileSync(join(PLUGIN, file), join(plugin, file));
  writeFileSync(join(ROOT, "program.cjs"), 'module.exports = require("./bundle/program.cjs");\n');
  await require("esbuild").build({
    absWorkingDir: plugin,
    entryPoints: ["index.ts"],
    outfile: "index.js",
    format: "cjs",
    platform: "node",
    target: "node20",
  });
}

/**
 * Writes each recipe of our catalogue as JSON, which takes a tenth of the time that YAML takes.
 * Returns their files. A faulty recipe is left out: whoever reads it then says what is wrong.
 */
async function makeCatalogue() {
  const { readRecipe } = await sourceAt(READER);
  const written = join(DIST, "catalogue");
  mkdirSync(written);
  const folders = readdirSync(join(ROOT, MODELS)).filter((folder) =>
    existsSync(join(ROOT, MODELS, folder, RECIPE)),
  );
  for (const folder of folders) {
    try {
      const recipe = readRecipe(ROOT, folder);
      writeFileSync(join(written, `${folder}.json`), JSON.stringify(recipe));
    } catch {}
  }
  return [
    ...folders.map((folder) => `${MODELS}/${folder}/${RECIPE}`),
    ...(await makeStarts(written)),
  ];
}

/** Writes all published starts as one file. Returns the files that they are from. */
async function makeStarts(written) {
  const { readKnownStarts, STARTS } = await sourceAt(STARTS_READER);
  writeFileSync(join(written, STARTS), JSON.stringify(readKnownStarts()));
  return readdirSync(join(ROOT, MODELS), { recursive: true })
    .filter((file) => basename(file) === STARTS)
    .map((file) => `${MODELS}/${file}`);
}

/**
 * Writes each version's data whole: to work them out of the differences takes seven times as long.
 */
async function makeEngineData() {
  const { versionFolder } = await sourceAt(VERSIONS);
  for (const folder of [ENGINES, `${ENGINES}/defaults`]) {
    const { versions, versionData } = versionFolder(join(ROOT, folder));
    const written = join(DIST, relative("packages/vllm", folder));
    mkdirSync(written);
    for (const version of versions())
      writeFileSync(
        join(written, `${version}.json`),
        JSON.stringify({ added: versionData(version) }),
      );
  }
}

/** What a source exports. */
async function sourceAt(file) {
  const outfile = join(DIST, "source.cjs");
  await require("esbuild").build({
    absWorkingDir: ROOT,
    entryPoints: [file],
    outfile,
    bundle: true,
    platform: "node",
    external: ENGINES_OWN,
  });
  const source = require(outfile);
  rmSync(outfile);
  delete require.cache[outfile];
  return source;
}

build();
