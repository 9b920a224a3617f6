// Runs files of a tree's pure tests for whoever forked it; apart.ts starts it in the
// tree. Plain JavaScript: nothing but the tree's own modules is loaded here.
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const STATE = "/tmp/mutants";
// Some tests run programs as another user.
const FOR_ALL = 0o777;

class AsGiven {
  sort = (files) => files;
  shard = (files) => files;
}

const require = createRequire(join(process.cwd(), "package.json"));
const { createVitest } = await import(pathToFileURL(require.resolve("vitest/node")).href);
const vitest = await createVitest(
  "test",
  {
    config: "test/vitest.config.mts",
    project: ["pure"],
    watch: false,
    // One process a run, in which the files share their modules as in `npm test`.
    isolate: false,
    sequence: { sequencer: AsGiven },
    reporters: [{}],
    silent: true,
    // A snapshot of another name would be written.
    update: "none",
  },
  { cacheDir: "/tmp/vite" },
);
for (const { config } of vitest.projects) config.maxWorkers = 1;
const specifications = await vitest.globTestSpecifications();
const pathOf = ({ moduleId }) => moduleId.slice(process.cwd().length + 1);

let runs = 0;

/** Runs files with these mutants on: what failed in each, and which mutants were reached. */
async function run({ files, on, isWhole }) {
  const reached = join(STATE, `reached-${++runs}`);
  rmSync(STATE, { recursive: true, force: true });
  mkdirSync(STATE);
  writeFileSync(join(STATE, "on.json"), JSON.stringify({ on, reached }));
  writeFileSync(reached, "");
  for (const each of [STATE, reached]) chmodSync(each, FOR_ALL);
  vitest.config.bail = isWhole ? 0 : 1;
  const asked = files.map((file) => specifications.find((each) => pathOf(each) === file));
  // What came of them before would be told where one fails before its turn.
  for (const { project, moduleId } of asked) vitest.state.clearFiles(project, [moduleId]);
  const begun = performance.now();
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(asked);
  const modules = files.map((file) => testModules.find((each) => pathOf(each) === file));
  const failed = modules.map((module) => (module === undefined ? [] : failuresOf(module)));
  // Nobody says in which file.
  failed[0].push(...unhandledErrors.map((error) => ["", String(error?.message)]));
  return {
    failed,
    ms: Math.round(performance.now() - begun),
    reached: [...new Set(readFileSync(reached, "utf8").split("\n").filter(Boolean).map(Number))],
  };
}

/** Name and message of each test that failed; no name where the file itself did. */
function failuresOf(module) {
  const errors = module.errors().map(({ message }) => ["", message]);
  const suites = [...module.children.allSuites()].flatMap((suite) =>
    suite.errors().map(({ message }) => [suite.fullName, message]),
  );
  const tests = [...module.children.allTests("failed")].map((test) => [
    test.fullName,
    test.result().errors?.[0]?.message ?? "",
  ]);
  return [...errors, ...suites, ...tests];
}

process.on("message", async (request) => process.send(await run(request)));
process.on("disconnect", () => process.exit());
process.send({ files: specifications.map(pathOf) });
