import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { versionFolder } from "@local-serving/vllm/versionFolder";
import { beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { readCatalogue } from "../../components/catalogue";
import { readKnownStarts, STARTS } from "../../components/catalogue/knownStarts";
import { linkModules } from "../layers/modules";
import { run } from "../layers/run";
import { temporaryFolder } from "../layers/temporaryFolder";

const PROJECT = resolve(__dirname, "../..");
const LEFT_OUT = [".git", ".pulumi-state", "dist", "docs", "node_modules", "test"];
const FROM_SOURCE =
  "Running from source: dist/ is missing or out of date. `npm run build` makes it.\n";
const SOURCE = "cli/planDescription.ts";
/** A build, or a start from source, beside other tests. */
const LIMIT_MS = 120_000;

let copy = "";
beforeAll(async () => {
  copy = temporaryFolder("bundle-test-");
  for (const name of readdirSync(PROJECT)) {
    if (!LEFT_OUT.includes(name))
      cpSync(join(PROJECT, name), join(copy, name), { recursive: true });
  }
  linkModules(copy);
}, LIMIT_MS);

const serving = (...args: string[]) => run("node", ["bundle/serving.cjs", ...args], { cwd: copy });
const build = () => run("node", ["bundle/build.cjs"], { cwd: copy });
const edit = (file: string, change: (text: string) => string) =>
  writeFileSync(join(copy, file), change(readFileSync(join(copy, file), "utf8")));

it("runs from source and says so before the first build", { timeout: LIMIT_MS }, async () => {
  const { code, stdout, stderr } = await serving("plan", "--stack", "dgx");
  expect({ code, stderr }).toEqual({ code: 0, stderr: FROM_SOURCE });
  expect(stdout).toContain("Nothing is refused.");
});

it("builds every program with the list of its sources", { timeout: LIMIT_MS }, async () => {
  expect(await build()).toMatchObject({ code: 0, stdout: "", stderr: "" });
  const made = readdirSync(join(copy, "dist"));
  for (const name of ["program", "policies", "serving", "plan"])
    expect(made).toEqual(expect.arrayContaining([`${name}.cjs`, `${name}.json`]));
});

it.each(["engine-data", "engine-data/defaults"])("has each version whole in dist/%s", (folder) => {
  const { versions, versionData } = versionFolder(join(PROJECT, "packages/vllm", folder));
  const built = readdirSync(join(copy, "dist", folder)).filter((file) => file.endsWith(".json"));
  expect(built.sort()).toEqual(versions().map((version) => `${version}.json`));
  for (const version of versions()) {
    const file = readFileSync(join(copy, "dist", folder, `${version}.json`), "utf8");
    expect(JSON.parse(file)).toEqual({ added: versionData(version) });
  }
});

it("runs the bundle without a word while the sources are those of the build", async () => {
  const { code, stdout, stderr } = await serving("plan", "--stack", "dgx");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("Nothing is refused.");
});

/** Notes each function that is made from text, as zod makes them unless it is told not to. */
const NOTES_COMPILED = `globalThis.Function = new Proxy(Function, {
  construct(...args) {
    process.stderr.write("compiled\\n");
    return Reflect.construct(...args);
  },
});`;

it("compiles no schema to read a stack file", async () => {
  writeFileSync(join(copy, "notes.cjs"), NOTES_COMPILED);
  const plan = ["bundle/serving.cjs", "plan", "--stack", "dgx"];
  const ran = run("node", ["--require", "./notes.cjs", ...plan], { cwd: copy });
  expect(await ran).toMatchObject({ code: 0, stderr: "" });
});

/** Data that no bundle expects to be broken: whatever reads it throws what nobody catches. */
const BROKEN = "dist/engine-data/0.30.0.json";
const BUG = (command: string) =>
  new RegExp(
    `^This is a bug in local-serving \\d+\\.\\d+\\.\\d+: .+\\n  command: ${command}\\n  Node\\.js v\\d+\\..+\\n` +
      "  at versionData \\(packages/vllm/versionFolder\\.ts:\\d+:\\d+\\)\\n(?:  at .+\\n)+" +
      "Please report it: open an issue of local-serving with these lines and what you did before\\.$",
  );

it("tells a bug as one, with a stack in our sources, and ends with 70", async () => {
  const sound = readFileSync(join(copy, BROKEN), "utf8");
  edit(BROKEN, () => "{");
  const { code, stdout, stderr } = await serving("plan", "--file", "Pulumi.dgx.yaml");
  edit(BROKEN, () => sound);
  expect({ code, stdout }).toEqual({ code: 70, stdout: "" });
  expect(stderr.trimEnd()).toMatch(BUG("serving plan --file Pulumi\\.dgx\\.yaml"));
  expect(stderr).not.toMatch(/\.cjs|node_modules/);
});

it("tells a bug of the Pulumi program in the same words", async () => {
  const sound = readFileSync(join(copy, BROKEN), "utf8");
  const { config } = parse(readFileSync(join(copy, "Pulumi.dgx.yaml"), "utf8")) as {
    config: Record<string, unknown>;
  };
  const values = Object.entries(config).map(([key, value]) => [key, JSON.stringify(value)]);
  edit(BROKEN, () => "{");
  const { stdout } = await run(
    "node",
    ["-e", 'require("./program.cjs")().catch(({ stack }) => console.log(stack))'],
    {
      cwd: copy,
      env: { PULUMI_CONFIG: JSON.stringify(Object.fromEntries(values)) },
    },
  );
  edit(BROKEN, () => sound);
  // In front of it the program says its warnings.
  expect(stdout.slice(stdout.indexOf("This is a bug")).trimEnd()).toMatch(
    BUG("the Pulumi program"),
  );
});

/** What a pipe holds. */
const PIPE_BYTES = 65_536;
/** Its faults take more. */
const FAULTY = Array.from({ length: 450 }, (_, index) => `    m${index}: { port: 1 }\n`);

it.each([
  ["stdout", "plan --stack dgx --format json", "2>/dev/null", 0],
  ["stderr", "plan --file faulty.yaml", "2>&1 >/dev/null", 1],
])("ends only when a late reader has all of its %s", async (_, args, streams, code) => {
  writeFileSync(
    join(copy, "faulty.yaml"),
    `config:\n  local-serving:machines:\n${FAULTY.join("")}`,
  );
  const command = `node bundle/serving.cjs ${args}`;
  const early = await run("sh", ["-c", `${command} ${streams}`], { cwd: copy });
  expect(early.stdout.length).toBeGreaterThan(PIPE_BYTES);
  const late = await run(
    "sh",
    ["-c", `{ ${command}; echo "code $?" >&3; } ${streams} 3>code | { sleep 1; cat; }; cat code`],
    { cwd: copy },
  );
  expect(late.stdout).toBe(`${early.stdout}code ${code}\n`);
});

it("ends once its output is written, whatever else still runs", async () => {
  writeFileSync(join(copy, "runs.cjs"), "setInterval(() => {}, 1000);");
  const env = { NODE_OPTIONS: "--require ./runs.cjs" };
  for (const [args, code] of [
    [["plan", "--stack", "dgx"], 0],
    [["plan", "--nosuch"], 2],
  ] as const)
    expect(
      (await run("node", ["bundle/serving.cjs", ...args], { cwd: copy, env, limitSeconds: 60 }))
        .code,
    ).toBe(code);
});

it("ends well where nobody reads its output any more", async () => {
  const { code, stdout, stderr } = await run(
    "sh",
    ["-c", "{ node bundle/serving.cjs plan --stack dgx --format json; echo $? >&2; } | head -c 9"],
    { cwd: copy },
  );
  expect({ code, stdout, stderr: stderr.trimEnd().split("\n").at(-1) }).toEqual({
    code: 0,
    stdout: '{\n  "vers',
    stderr: "0",
  });
});

it("keeps its exit code where nobody reads its stderr any more", async () => {
  // The reader is gone before anything is said.
  const command = "{ sleep 1; node bundle/serving.cjs plan --nosuch; echo $? >&3; }";
  const { stdout } = await run("sh", ["-c", `${command} 2>&1 3>code | true; cat code`], {
    cwd: copy,
  });
  expect(stdout).toBe("2\n");
});

it("tells an output that can't be written from a bug", async () => {
  const { code, stderr } = await run(
    "sh",
    ["-c", "node bundle/serving.cjs plan --stack dgx >/dev/full"],
    {
      cwd: copy,
    },
  );
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: "The output can't be written: ENOSPC: no space left on device, write\n",
  });
});

it("runs the bundle of a copied checkout, where only the times of files differ", async () => {
  const source = readFileSync(join(copy, SOURCE));
  writeFileSync(join(copy, SOURCE), source);
  expect(await serving("--version")).toMatchObject({ code: 0, stderr: "" });
});

it("runs changed sources and says so", { timeout: LIMIT_MS }, async () => {
  edit(SOURCE, (text) => text.replace("Show what `up` would do", "Print what `up` would do"));
  const { code, stdout, stderr } = await serving("plan", "--help");
  expect({ code, stderr }).toEqual({ code: 0, stderr: FROM_SOURCE });
  expect(stdout).toContain("Print what `up` would do");
  edit(SOURCE, (text) => text.replace("Print what `up` would do", "Show what `up` would do"));
  expect(await serving("--version")).toMatchObject({ code: 0, stderr: "" });
});

it("asks of `plan` only the sources that it may load", { timeout: LIMIT_MS }, async () => {
  const other = "cli/commands/status.ts";
  edit(other, (text) => `${text}\n`);
  expect(await serving("plan", "--stack", "dgx")).toMatchObject({ code: 0, stderr: "" });
  expect(await serving("--version")).toMatchObject({ code: 0, stderr: FROM_SOURCE });
  edit(other, (text) => text.slice(0, -1));
});

it("ends a program that is no function with one sentence", { timeout: LIMIT_MS }, async () => {
  const before = readFileSync(join(copy, "index.ts"), "utf8");
  edit("index.ts", () => "export const answer = 42;\n");
  const { stdout } = await run(
    "node",
    ["-e", 'require("./program.cjs")().catch(({ stack }) => console.log(stack))'],
    {
      cwd: copy,
    },
  );
  edit("index.ts", () => before);
  expect(stdout).toBe(
    "index.ts exports no program. It must be a function: `export default async () => { ... };`.\n",
  );
});

const RECIPE = "models/openai--gpt-oss-20b/recipe.yaml";

it.each([
  ["package-lock.json", ["--version"]],
  ["components/host/hostFile.sh", ["--version"]],
  [RECIPE, ["plan", "--stack", "dgx"]],
])("takes a change of %s for one of the sources", { timeout: LIMIT_MS }, async (file, args) => {
  edit(file, (text) => `${text}\n`);
  expect(await serving(...args)).toMatchObject({ code: 0, stderr: FROM_SOURCE });
  edit(file, (text) => text.slice(0, -1));
});

it("has the recipes of the catalogue as its readers judge them", () => {
  const built = readdirSync(join(copy, "dist/catalogue"))
    .filter((file) => file !== STARTS)
    .sort()
    .map((file) => JSON.parse(readFileSync(join(copy, "dist/catalogue", file), "utf8")));
  expect(built).toEqual(readCatalogue(PROJECT));
  const starts = readFileSync(join(copy, "dist/catalogue", STARTS), "utf8");
  expect(JSON.parse(starts)).toEqual(readKnownStarts());
});

const faulty = (text: string) => text.replace("\nid: ", "\nid: not-");

it("reads a recipe of the operator's own folder as it is", async () => {
  const own = temporaryFolder("own-recipe-");
  mkdirSync(join(own, dirname(RECIPE)), { recursive: true });
  writeFileSync(join(own, "Pulumi.yaml"), "name: local-serving\nruntime: nodejs\n");
  cpSync(join(copy, "Pulumi.dgx.yaml"), join(own, "Pulumi.dgx.yaml"));
  writeFileSync(join(own, RECIPE), faulty(readFileSync(join(copy, RECIPE), "utf8")));
  const { code, stderr } = await run("node", [join(copy, "bundle/serving.cjs"), "models"], {
    cwd: own,
  });
  expect(code).toBe(1);
  expect(stderr).toContain(`${RECIPE}: 1 fault\n`);
});

// What is behind it has no use for recipes: another build would take seconds.
it("says what is wrong with a recipe, built or not", { timeout: LIMIT_MS }, async () => {
  edit(RECIPE, faulty);
  const [unbuilt, , built] = [await serving("models"), await build(), await serving("models")];
  expect(built).toMatchObject({ code: 1, stdout: "" });
  expect(built.stderr).toContain(`${RECIPE}: 1 fault\n`);
  expect(unbuilt).toEqual({ ...built, stderr: FROM_SOURCE + built.stderr });
});

it.each([
  ["serving", "plan"],
  ["serving", "preview"],
])("names npm ci where the packages are missing: %s %s", async (program, word) => {
  rmSync(join(copy, "node_modules"), { recursive: true, force: true });
  rmSync(join(copy, "dist"), { recursive: true, force: true });
  const { code, stdout, stderr } = await run("node", [`bundle/${program}.cjs`, word], {
    cwd: copy,
  });
  expect({ code, stdout, stderr }).toEqual({
    code: 2,
    stdout: "",
    stderr: "Packages are missing. Run `npm ci` first.\n",
  });
});
