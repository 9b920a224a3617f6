import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import * as nodeModule from "node:module";
import { createRequire, isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { NPX } from "@local-serving/base/programFolder";
import { beforeAll, describe, expect, it } from "vitest";
import { ONTO_PATH } from "../../cli/packages/pin";
import { devDependencies, published, version } from "../../package.json";
import { madeFacts } from "../cli/init/madeFacts";
import { run } from "../layers/run";
import { temporaryFolder } from "../layers/temporaryFolder";
import { commandBlocksOf } from "../readme/commandBlocks";
import { installed, packed } from "./packed";

const ROOT = process.cwd();
const MEGABYTE = 1e6;

let tarball = "";
/** A folder of an operator's, with the package in its node_modules. */
let own = "";
let program = "";
/** The same package elsewhere, as `npm install --global` puts it. */
let everywhere = "";
let home = "";

beforeAll(async () => {
  tarball = await packed();
  own = temporaryFolder("own-");
  everywhere = await installed(tarball, temporaryFolder("global-"));
  program = await installed(tarball, own);
  home = temporaryFolder("home-");
});

/** Runs `serving` of a package in a folder, for a user with an empty home. */
const serving = (cwd: string, args: readonly string[], env: Record<string, string> = {}) =>
  run("node", [join(everywhere, "bundle/serving.cjs"), ...args], {
    cwd,
    env: {
      HOME: home,
      XDG_CACHE_HOME: undefined,
      XDG_STATE_HOME: undefined,
      LOCAL_SERVING_STACK: undefined,
      npm_command: undefined,
      ...env,
    },
  });

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .sort();

/** Names and times of everything below a folder. */
const stateOf = (folder: string) =>
  readdirSync(folder, { recursive: true })
    .map(String)
    .sort()
    .map((name) => `${name} ${statSync(join(folder, name)).mtimeMs}`);

describe("the package", () => {
  it("says its version, and the commit that it was made from where that is known", async () => {
    const said = async () =>
      (await run("node", [join(program, "bundle/serving.cjs"), "--version"])).stdout;
    expect(await said()).toBe(`${version}\n`);
    const commit = join(program, "dist/commit");
    writeFileSync(commit, "0123456789abcdef0123456789abcdef01234567\n");
    expect(await said()).toBe(`${version} (0123456789ab)\n`);
    rmSync(commit);
  });

  it("has the bundles and what they read, no sources, no tests", () => {
    const files = filesIn(program);
    const top = [...new Set(files.map((file) => file.split("/")[0]))];
    expect(top).toEqual([
      "LICENSE",
      "Pulumi.dgx.yaml",
      "README.md",
      "bundle",
      "dist",
      "docs",
      "models",
      "package.json",
      "plugin",
      "policies",
      "program.cjs",
    ]);
    expect(files.filter((file) => /\.(ts|cts|mts)$/.test(file))).toEqual([
      "bundle/component.d.ts",
      "docs/examples/program/index.ts",
      "docs/examples/program/machines.ts",
      "docs/reference/stack-file.d.ts",
      // The engine reads the component's schema in it.
      "plugin/index.ts",
      "plugin/serving.d.ts",
    ]);
    expect(files).toEqual(
      expect.arrayContaining([
        "dist/engine-data/0.30.0.json",
        "docs/reference/stack-file.schema.json",
        "models/openai--gpt-oss-120b/recipe.yaml",
        "policies/PulumiPolicy.yaml",
      ]),
    );
  });

  it("has every page and picture that its pages link to", () => {
    const files = filesIn(program);
    const links = files
      .filter((file) => file.endsWith(".md"))
      .flatMap((file) =>
        [...readFileSync(join(program, file), "utf8").matchAll(/\]\(([^)#\s]+)/g)]
          .map(([, link = ""]) => link)
          .filter((link) => !/^[a-z]+:/.test(link))
          .map((link) => ({ file, to: join(dirname(file), link).replace(/\/$/, "") })),
      );
    expect(links.length).toBeGreaterThan(200);
    const isThere = (to: string) => files.some((each) => each === to || each.startsWith(`${to}/`));
    expect(links.filter(({ to }) => !isThere(to))).toEqual([]);
  });

  it("is under 4 MB, as the guide says", () => {
    expect(statSync(tarball).size).toBeLessThan(4 * MEGABYTE);
    const [readme, guide] = ["README.md", "docs/guide/own-repository.md"].map((page) =>
      readFileSync(join(program, page), "utf8"),
    );
    expect(guide).toContain("under 4 MB");
    // `published` of package.json turns the pages over to npm's registry.
    for (const page of [readme, guide]) {
      expect(page?.includes("npx --package TARBALL local-serving init")).toBe(!published);
      expect(page?.includes("npx local-serving init")).toBe(published);
    }
  });

  it("runs nothing of ours at an installation, and needs only the engine's SDK", () => {
    const manifest = JSON.parse(readFileSync(join(program, "package.json"), "utf8"));
    const { scripts, dependencies, optionalDependencies, peerDependencies, bin } = manifest;
    for (const event of ["preinstall", "install", "postinstall", "prepare", "prepublish"])
      expect(scripts).not.toHaveProperty(event);
    expect([dependencies, optionalDependencies]).toEqual([undefined, undefined]);
    expect(peerDependencies).toEqual({
      "@pulumi/command": "~1.2.1",
      "@pulumi/docker": "~5.2.0",
      "@pulumi/policy": "~1.21.0",
      "@pulumi/pulumi": ">=3.248.0 <4",
    });
    expect(bin).toEqual({ "local-serving": "bundle/serving.cjs", serving: "bundle/serving.cjs" });
    for (const file of readdirSync(join(program, "dist")).filter((name) => name.endsWith(".cjs"))) {
      const text = readFileSync(join(program, "dist", file), "utf8");
      const wanted = [...text.matchAll(/\brequire\("([^"]+)"\)/g)].map(([, name]) => name);
      const foreign = wanted.filter((name) => !/^(node:|@pulumi\/)/.test(name ?? ""));
      expect([file, foreign.filter((name = "") => !isBuiltin(name))]).toEqual([file, []]);
    }
  });

  it("is tested with the engine of the SDK's own release", () => {
    const workflow = readFileSync(join(ROOT, ".github/workflows/ci.yml"), "utf8");
    const engines = [...workflow.matchAll(/pulumi-version: "(.+)"/g)].map(([, release]) => release);
    expect(engines).toEqual([devDependencies["@pulumi/pulumi"]]);
  });

  it("never names npm's other package of the name `serving`", () => {
    const naming = filesIn(program).filter((file) =>
      /\bnpx (?:--\S+ )*serving\b/.test(readFileSync(join(program, file), "utf8")),
    );
    expect(naming).toEqual([]);
  });
});

describe("the package in a program of somebody else", () => {
  const text = (path: string) => readFileSync(join(program, path), "utf8");

  it("gives a component by its name, and the plugin's version is the package's", () => {
    const { LocalServing, ...others } = createRequire(join(own, "index.js"))("local-serving");
    expect([LocalServing.name, others]).toEqual(["LocalServing", {}]);
    expect(JSON.parse(text("plugin/package.json"))).toMatchObject({
      name: "local-serving",
      version,
    });
    expect(Object.keys(createRequire(join(program, "plugin/index.js"))("./serving.js"))).toEqual([
      "Serving",
    ]);
    // `npm install TARBALL` adds ours: npm itself has no package of this name, or a stranger's.
    expect(JSON.parse(text("docs/examples/program/package.json")).dependencies).toEqual({
      "@pulumi/pulumi": "~3.248.0",
    });
  });

  it("has types that take the example, and refuse a key that the schema doesn't know", async () => {
    const folder = temporaryFolder("types-");
    symlinkSync(join(own, "node_modules"), join(folder, "node_modules"));
    const declared = text("docs/examples/program/machines.ts");
    writeFileSync(join(folder, "index.ts"), text("docs/examples/program/index.ts"));
    writeFileSync(join(folder, "machines.ts"), declared);
    writeFileSync(join(folder, "wrong.ts"), declared.replace("totalGiB: 121.63", "totalGB: 121"));
    const compilerOptions = { strict: true, noEmit: true, skipLibCheck: true, types: [] };
    const files = ["index.ts", "wrong.ts"];
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
    const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
    const checked = await run("node", [compiler], { cwd: folder });
    expect(checked.stdout.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/^wrong\.ts\(8,5\): error TS2561: .*'totalGB' does not exist/),
    ]);
  });
});

describe("a packed program in a folder of its own", () => {
  let facts = "";
  const stack = () => join(own, "Pulumi.spark-7f3a.yaml");
  const INIT = () => ["init", "--from", facts, "--yes", "--no-install", "--pin", version];

  beforeAll(async () => {
    facts = await madeFacts();
  });

  it("says what to run where there is no project, and works where none is needed", async () => {
    const empty = temporaryFolder("no-project-");
    expect(await serving(empty, ["plan"])).toEqual({
      code: 2,
      stdout: "",
      stderr: `No project of local-serving is in ${empty} or above it. Run \`serving init\` in an empty folder: it makes one for this machine.\n`,
    });
    const program = temporaryFolder("own-program-");
    writeFileSync(join(program, "Pulumi.yaml"), "name: mine\nruntime: nodejs\n");
    expect(await serving(program, ["fetch", "--check"])).toEqual({
      code: 2,
      stdout: "",
      stderr: `${program} has a Pulumi program of yours and no stack file. Give this command a copy of the program's settings, \`--file COPY\`: node_modules/local-serving/docs/guide/any-program.md says how to write it.\n`,
    });
    const planned = await serving(empty, ["plan", "--file", join(ROOT, "Pulumi.dgx.yaml")]);
    expect(planned).toMatchObject({ code: 0, stderr: "" });
    expect(readdirSync(empty)).toEqual([]);
    const log = join(temporaryFolder("log-"), "server.log");
    writeFileSync(log, "vllm: error: unrecognized arguments: serve org/model\n");
    expect(await serving(empty, ["doctor", "--log", log])).toMatchObject({
      code: 1,
      stderr: "There is no stack file to compare with: the log's own settings were used.\n",
    });
    for (const args of [["models"], ["models", "show", "gpt-oss-120b"], ["completion", "bash"]])
      expect(await serving(empty, args)).toMatchObject({ code: 0 });
    expect(await serving(empty, ["candidates", "--", "plan", "--stack", ""])).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "",
    });
  });

  it("pins the tarball that it is given, since npm notes none of a global installation", async () => {
    const folder = temporaryFolder("global-project-");
    const init = ["init", "--from", facts, "--yes", "--no-install"];
    expect(await serving(folder, init)).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "This program isn't on npm, and npm keeps no note of the tarball that a global installation came from. Name that tarball, by its path or its address: `serving init --pin TARBALL`.\n",
    });
    expect(readdirSync(folder)).toEqual([]);
    expect(await serving(folder, [...init, "--pin", tarball])).toMatchObject({ code: 0 });
    expect(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).dependencies).toEqual({
      "local-serving": `file:${tarball}`,
    });
    // npm gets the pin without a registry.
    const install = ["install", "--offline", "--legacy-peer-deps", "--no-audit", "--no-fund"];
    expect(await run("npm", install, { cwd: folder })).toMatchObject({ code: 0 });
    const brought = readFileSync(join(folder, "node_modules/local-serving/package.json"), "utf8");
    expect(JSON.parse(brought)).toMatchObject({ name: "local-serving", version });
    await calledAsThePagesSay(folder);
  });

  /** In a folder in which npm has installed the program. */
  async function calledAsThePagesSay(folder: string) {
    const HOME = temporaryFolder("home-of-caller-");
    const shell = (command: string, cwd = folder) =>
      run("bash", ["--norc", "-c", command], {
        cwd,
        env: { HOME, PATH: `${HOME}/.local/bin:${process.env.PATH}`, npm_command: undefined },
      });
    // Options are the program's, not npx's.
    for (const [option, said] of [
      ["--version", `${version}\n`],
      ["--help", "Usage: serving [options] [command]"],
    ] as const) {
      const { code, stdout } = await shell(`${NPX} ${option}`);
      expect([code, stdout.slice(0, said.length)]).toEqual([0, said]);
    }
    expect(await shell(`${NPX} plan --format json`)).toMatchObject({ code: 0 });
    const blocks = commandBlocksOf("docs/guide/commands.md");
    const [block] = blocks.filter(({ mark }) => mark === "run by test/package/package.test.ts");
    expect(block?.text).toBe(ONTO_PATH);
    expect(await shell(ONTO_PATH)).toMatchObject({ code: 0, stderr: "" });
    const completed = await shell(
      'source <(serving completion bash); COMP_WORDS=(serving logs b); COMP_CWORD=2; _serving; echo "$COMPREPLY"',
      HOME,
    );
    expect(completed).toMatchObject({ code: 0, stdout: "b\n", stderr: "" });
    const { stdout } = await shell("serving plan", HOME);
    expect(stdout).toContain("Nothing is refused.");
  }

  it("makes a project and plans it, word for word as a clone does, and writes nothing below itself", async () => {
    const before = [stateOf(program), stateOf(everywhere)];
    expect(await serving(own, INIT())).toMatchObject({ code: 0, stderr: "" });
    const planned = await serving(own, ["plan", "--file", stack(), "--full"]);
    expect(planned).toMatchObject({ code: 0, stderr: "" });
    const args = ["bundle/serving.cjs", "plan", "--file", stack(), "--full"];
    const inClone = await run("node", args, { cwd: ROOT, env: { HOME: home } });
    expect(planned.stdout).toBe(inClone.stdout);
    const lines = readFileSync(stack(), "utf8").replaceAll("\n", "\r\n");
    const pulumi = join(own, "Pulumi.yaml");
    const inside = join(own, "docs");
    mkdirSync(inside);
    writeFileSync(join(inside, "Pulumi.yaml"), "name: another\nruntime: nodejs\n");
    writeFileSync(stack(), lines);
    writeFileSync(pulumi, readFileSync(pulumi, "utf8").replaceAll("\n", "\r\n"));
    const again = await serving(inside, ["plan", "--stack", "spark-7f3a", "--full"]);
    // Advice names the file only where somebody named it.
    const unnamed = planned.stdout.replaceAll(` --file ${stack()}`, "");
    expect(again).toMatchObject({ code: 0, stderr: "", stdout: unnamed });
    expect([stateOf(program), stateOf(everywhere)]).toEqual(before);
  });

  it("says which project it acts on where it is called by its path from elsewhere", async () => {
    const elsewhere = temporaryFolder("elsewhere-");
    const called = (cwd: string) =>
      run("node", [join(program, "bundle/serving.cjs"), "plan", "--stack", "spark-7f3a"], {
        cwd,
        env: { HOME: home },
      });
    expect(await called(elsewhere)).toMatchObject({
      code: 0,
      stderr: `No project is in ${elsewhere}: this is about the one in ${own}.\n`,
    });
    for (const cwd of [own, join(own, "node_modules")])
      expect(await called(cwd)).toMatchObject({ code: 0, stderr: "" });
  });

  it("has Node keep compiled code in the user's cache folder, and goes without where it can't", async () => {
    const caches = temporaryFolder("caches-");
    const ran = (env: Record<string, string>) => serving(own, ["--version"], env);
    const good = { code: 0, stdout: `${version}\n`, stderr: "" };
    expect(await ran({ XDG_CACHE_HOME: caches })).toEqual(good);
    const folders = new Set(filesIn(caches).map((file) => dirname(dirname(file))));
    expect([...folders]).toEqual("enableCompileCache" in nodeModule ? ["local-serving"] : []);
    for (const nowhere of ["/dev/null", "no/folder"])
      expect(await ran({ XDG_CACHE_HOME: nowhere, HOME: nowhere })).toEqual(good);
    expect(existsSync(join(own, "no"))).toBe(false);
  });

  it("runs by a link, as npm puts programs on the PATH", async () => {
    const bin = temporaryFolder("bin-");
    symlinkSync(join(everywhere, "bundle/serving.cjs"), join(bin, "serving"));
    chmodSync(join(everywhere, "bundle/serving.cjs"), 0o755);
    const ran = await run(join(bin, "serving"), ["--version"], { cwd: own, env: { HOME: home } });
    expect(ran).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
  });
});

describe("a folder whose package goes", () => {
  it("keeps all that is the operator's, and goes on once it is there again", async () => {
    const state = join(own, ".pulumi-state/passphrase");
    mkdirSync(join(own, ".pulumi-state"));
    writeFileSync(state, "the operator's\n");
    const theirs = () => filesIn(own).filter((file) => !file.startsWith("node_modules/"));
    const before = theirs();
    const plan = () => serving(own, ["plan", "--stack", "spark-7f3a"]);
    const planned = await plan();
    rmSync(join(own, "node_modules"), { recursive: true });
    // The pinned version is this one, so it may stand in.
    expect(await plan()).toEqual(planned);
    await installed(tarball, own);
    expect(await plan()).toEqual(planned);
    expect([theirs(), readFileSync(state, "utf8")]).toEqual([before, "the operator's\n"]);
  });
});

describe("a global program in a folder that pins one", () => {
  let folder = "";
  const pin = (spec: string) =>
    writeFileSync(
      join(folder, "package.json"),
      JSON.stringify({ devDependencies: { "local-serving": spec } }),
    );
  beforeAll(() => {
    folder = temporaryFolder("pinned-");
    writeFileSync(join(folder, "Pulumi.yaml"), "name: local-serving\nruntime: nodejs\n");
  });

  it.each([
    () => version,
    () => `https://example.org/v${version}/local-serving-${version}.tgz`,
    () => `file:${everywhere}`,
  ])("works where its own version is pinned and not installed", async (spec) => {
    pin(spec());
    expect(await serving(folder, ["--version"])).toMatchObject({ code: 0, stderr: "" });
  });

  it("says what to run where another version is pinned and not installed", async () => {
    pin("9.9.9");
    expect(await serving(folder, ["plan"])).toEqual({
      code: 2,
      stdout: "",
      stderr: `${folder} pins local-serving 9.9.9, which isn't installed there, and this is ${version}. Run \`npm install\` there first.\n`,
    });
  });

  it("hands over to the one that is installed there", async () => {
    const theirs = join(folder, "node_modules/local-serving/bundle");
    mkdirSync(theirs, { recursive: true });
    writeFileSync(
      join(theirs, "serving.cjs"),
      "console.log(\"the folder's own: \" + process.argv.slice(2).join(' '));",
    );
    const inside = join(folder, "inside");
    mkdirSync(inside);
    expect(await serving(inside, ["plan", "--full"])).toEqual({
      code: 0,
      stdout: "the folder's own: plan --full\n",
      stderr: "",
    });
    rmSync(join(folder, "node_modules"), { recursive: true });
    expect(existsSync(join(folder, "package.json"))).toBe(true);
  });
});
