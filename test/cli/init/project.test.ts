import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { keepPassed, keepVerify, passedStackFile } from "../../../cli/verify/lastVerify";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { runServing } from "../runServing";
import { madeFacts } from "./madeFacts";

const ROOT = process.cwd();
let facts = "";
let folder = "";

beforeAll(async () => {
  facts = await madeFacts();
});

beforeEach(() => {
  folder = temporaryFolder("own-folder-");
});
afterEach(() => vi.restoreAllMocks());

/** Runs the command line in the folder. */
function servingIn(cwd: string, args: readonly string[], env: Record<string, string> = {}) {
  vi.spyOn(process, "cwd").mockReturnValue(cwd);
  return runServing(args, { npm_command: "run-script", ...env });
}
const init = (...args: string[]) =>
  servingIn(folder, ["init", "--from", facts, "--yes", "--no-install", ...args]);

const text = (name: string) => readFileSync(join(folder, name), "utf8");
const put = (name: string, content: string) => writeFileSync(join(folder, name), content);
const STACK = "Pulumi.spark-7f3a.yaml";
const WORKFLOW = ".github/workflows/plan.yml";

describe("serving init in an empty folder", () => {
  it("makes a project that pins this program, and names the stack as the machine is named", async () => {
    const { code, out, err } = await init();
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(readdirSync(folder).sort()).toEqual([
      ".gitignore",
      STACK,
      "Pulumi.yaml",
      "package.json",
    ]);
    expect(JSON.parse(text("package.json"))).toEqual({
      private: true,
      dependencies: { "local-serving": `file:${ROOT}` },
    });
    expect(parse(text("Pulumi.yaml"))).toEqual({
      name: "local-serving",
      description: "Local model serving on one unified-memory machine",
      main: "node_modules/local-serving/program.cjs",
      runtime: { name: "nodejs", options: { typescript: false } },
    });
    expect(text(".gitignore").split("\n")).toEqual(
      expect.arrayContaining([".pulumi-state/", "node_modules/", "*.yaml.bak"]),
    );
    expect(text(STACK)).toContain(
      "$schema=node_modules/local-serving/docs/reference/stack-file.schema.json\n",
    );
    expect(out).toContain("\nMade in this folder: .gitignore, package.json, Pulumi.yaml.\n");
    expect(out.split("Next:\n")[1]).toMatch(/^ {2}npm install\n/);
  });

  it("plans there with the catalogue of this program, beside models of the folder's own", async () => {
    await init();
    const plan = ["plan", "--stack", "spark-7f3a", "--full"];
    const fromCatalogue = await servingIn(folder, plan);
    expect(fromCatalogue).toMatchObject({ code: 0, err: "" });
    expect(fromCatalogue.out).toContain("KV cache");
    expect(fromCatalogue.out).not.toContain("not valid JSON");
    const own = join(folder, "models/nvidia--Qwen3.6-35B-A3B-NVFP4");
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, "config.json"), "{");
    const fromOwn = await servingIn(folder, plan);
    expect(fromOwn.out).toContain("models/nvidia--Qwen3.6-35B-A3B-NVFP4/config.json");
    expect(fromOwn.out).toContain("config.json: not valid JSON");
  });

  it("adds a stack to a project, and nothing else", async () => {
    await init();
    const before = ["package.json", "Pulumi.yaml", ".gitignore", STACK].map(text);
    const { code, out } = await init("--name", "second", "--format", "json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ file: join(folder, "Pulumi.second.yaml"), made: [] });
    expect(["package.json", "Pulumi.yaml", ".gitignore", STACK].map(text)).toEqual(before);
    const inside = join(folder, "deep");
    mkdirSync(inside);
    const third = ["init", "--from", facts, "--yes", "--name", "third"];
    expect((await servingIn(inside, third)).code).toBe(0);
    expect(readdirSync(inside)).toEqual([]);
    expect(existsSync(join(folder, "Pulumi.third.yaml"))).toBe(true);
  });

  it("makes the project around a stack file that came from elsewhere", async () => {
    const sample = readFileSync(join(ROOT, "Pulumi.dgx.yaml"), "utf8");
    put("Pulumi.mine.yaml", sample);
    const { code, out } = await init("--format", "json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      version: 1,
      file: join(folder, "Pulumi.mine.yaml"),
      made: [".gitignore", "package.json", "Pulumi.yaml"],
      mend: [],
      next: ["npm install"],
    });
    expect(text("Pulumi.mine.yaml")).toBe(sample);
  });

  it("takes over what is kept about each stack file that came from elsewhere", async () => {
    const clone = temporaryFolder("clone-");
    const env = { XDG_STATE_HOME: temporaryFolder("state-") };
    const sample = readFileSync(join(ROOT, "Pulumi.dgx.yaml"), "utf8");
    const names = ["Pulumi.mine.yaml", "Pulumi.other.yaml"];
    for (const name of names) {
      for (const there of [clone, folder]) writeFileSync(join(there, name), sample);
      const verified = { stackFile: join(clone, name), machine: "dgx" };
      await keepVerify(verified, [], env);
      keepPassed(verified.stackFile, sample, env);
    }
    expect(await servingIn(folder, ["init", "--no-install"], env)).toMatchObject({ code: 0 });
    for (const name of names) expect(passedStackFile(join(folder, name), env)).toBeDefined();
  });

  it("pins what it is told to, and keeps a package.json that names it", async () => {
    await init("--pin", "0.9.9");
    expect(JSON.parse(text("package.json")).dependencies).toEqual({ "local-serving": "0.9.9" });
    folder = temporaryFolder("own-folder-");
    const own = '{ "devDependencies": { "local-serving": "0.1.0" } }';
    put("package.json", own);
    put(".gitignore", "node_modules/\n/mine");
    expect((await init()).code).toBe(0);
    expect(text("package.json")).toBe(own);
    expect(text(".gitignore")).toMatch(/^node_modules\/\n\/mine\n# Keep a copy/);
    expect(text(".gitignore").match(/node_modules/g)).toHaveLength(1);
  });

  it.each([
    ["local-serving-9.tgz", "file:./local-serving-9.tgz"],
    ["./local-serving-9.tgz", "file:./local-serving-9.tgz"],
    ["https://example.org/local-serving-9.tgz", "https://example.org/local-serving-9.tgz"],
    ["file:../local-serving-9.tgz", "file:../local-serving-9.tgz"],
  ])("pins a tarball as npm takes it: %s", async (given, pinned) => {
    put("local-serving-9.tgz", "");
    expect((await init("--pin", given)).code).toBe(0);
    expect(JSON.parse(text("package.json")).dependencies).toEqual({ "local-serving": pinned });
  });

  it("refuses a tarball that isn't there, and writes nothing", async () => {
    expect(await init("--pin", "Downloads/local-serving-9.tgz")).toEqual({
      code: 2,
      out: "",
      err: `--pin Downloads/local-serving-9.tgz: ${folder}/Downloads/local-serving-9.tgz is not there.\n`,
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it("puts the tarball that it pins beside package.json, so that CI can install it", async () => {
    const elsewhere = join(temporaryFolder("downloads-"), "local-serving-9.tgz");
    writeFileSync(elsewhere, "packed");
    const made = await init("--pin", elsewhere, "--ci", "github", "--format", "json");
    expect(JSON.parse(made.out)).toMatchObject({
      made: [".gitignore", "package.json", "Pulumi.yaml", WORKFLOW, "local-serving-9.tgz"],
      mend: [],
    });
    expect(text("local-serving-9.tgz")).toBe("packed");
    const pinned = { "local-serving": "file:./local-serving-9.tgz" };
    expect(JSON.parse(text("package.json")).dependencies).toEqual(pinned);
    expect((await init("--ci", "github")).code).toBe(0);
  });

  it.each<[string, string, (at: string) => string]>([
    [
      "what package.json pins lies elsewhere",
      "package.json",
      (at) =>
        `CI can't install local-serving from ${at}, which only this computer has. In ${folder}: \`cp ${at} . && npm install ./local-serving-9.tgz\`, and commit the tarball.`,
    ],
    [
      "another file has the tarball's name",
      "local-serving-9.tgz",
      (at) =>
        `CI can't install local-serving from ${at}, which only this computer has, and local-serving-9.tgz here is another file: rename or remove that, and run this again.`,
    ],
  ])("says why CI can't install it where %s", async (_, there, why) => {
    const elsewhere = join(temporaryFolder("downloads-"), "local-serving-9.tgz");
    writeFileSync(elsewhere, "packed");
    const own = JSON.stringify({ dependencies: { "local-serving": `file:${elsewhere}` } });
    put(there, own);
    const { code, out } = await init("--pin", elsewhere, "--ci", "github", "--format", "json");
    expect([code, JSON.parse(out).mend]).toEqual([1, [why(elsewhere)]]);
    expect(text(there)).toBe(own);
    expect(existsSync(join(folder, WORKFLOW))).toBe(true);
  });

  it("writes a workflow on request, then and later, and never twice", async () => {
    const fromClone = await init("--ci", "github", "--format", "json");
    expect([fromClone.code, JSON.parse(fromClone.out).mend]).toEqual([
      1,
      [
        `CI can't install local-serving from ${ROOT}, which only this computer has. Make a tarball of it (\`npm pack\` there), and pin that here: \`npm install ./TARBALL\`.`,
      ],
    ]);
    const workflow = parse(text(WORKFLOW));
    const [, , install, plan, images] = workflow.jobs.plan.steps;
    expect(install).toEqual({ run: "npm ci" });
    expect(plan.run).toContain(
      'npx --no -- serving plan --file "$file" --against HEAD^1 --strict --format markdown',
    );
    expect(images.run).toContain('npx --no -- serving pin --check --file "$file"');
    put(WORKFLOW, "mine\n");
    const { out } = await init("--ci", "github");
    expect(out).toMatch(new RegExp(`^${join(folder, STACK)} stays as it is\\.\\n`));
    expect(text(WORKFLOW)).toBe("mine\n");
    expect(await init()).toMatchObject({ code: 2 });
  });
});

describe("a folder that serving init leaves alone", () => {
  const left = async (why: string, cwd = folder) => {
    const before = readdirSync(cwd).sort();
    const { code, out, err } = await servingIn(cwd, ["init", "--from", facts, "--yes"]);
    expect({ code, out, err }).toEqual({
      code: 2,
      out: "",
      err: `${cwd} ${why}. Run \`serving init\` in an empty folder: it makes a project there.\n`,
    });
    expect(readdirSync(cwd).sort()).toEqual(before);
  };

  it("has another project's Pulumi.yaml", async () => {
    put("Pulumi.yaml", "name: local-serving-too\nruntime: nodejs\n");
    await left("has the Pulumi.yaml of another project");
  });

  it.each(['{ "dependencies": { "other": "1.0.0" } }', "{"])(
    "has another package.json: %s",
    async (manifest) => {
      put("package.json", manifest);
      await left("has the package.json of another program, which doesn't name local-serving");
    },
  );

  it("is somebody's home", async () => {
    vi.stubEnv("HOME", folder);
    await left("is your home");
  });

  it.skipIf(!existsSync("/proc/version"))("can't be written", async () => {
    const { code, err } = await servingIn("/proc", ["init", "--from", facts, "--yes"]);
    expect(code).toBe(2);
    expect(err).toMatch(/^\/proc can't be written: /);
  });

  it("is passed over where it only lies above", async () => {
    put("Pulumi.yaml", "name: other\nruntime: nodejs\n");
    const inside = join(folder, "serving");
    mkdirSync(inside);
    const args = ["init", "--from", facts, "--yes", "--no-install"];
    expect((await servingIn(inside, args)).code).toBe(0);
    expect(existsSync(join(inside, "Pulumi.yaml"))).toBe(true);
    expect(readdirSync(folder).sort()).toEqual(["Pulumi.yaml", "serving"]);
  });
});

describe("what serving init installs", () => {
  const withNpm = async (script: string) => {
    const programs = temporaryFolder("npm-");
    writeFileSync(join(programs, "npm"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const env = { PATH: `${programs}:${process.env.PATH}`, LOG: join(programs, "log") };
    const ran = await servingIn(folder, ["init", "--from", facts, "--yes"], env);
    return { ...ran, log: existsSync(env.LOG) ? readFileSync(env.LOG, "utf8") : undefined };
  };

  it("is what npm brings, run in the folder once", async () => {
    const { code, out, log } = await withNpm('echo "$PWD $*" >>"$LOG"');
    expect({ code, log }).toEqual({
      code: 0,
      log: `${folder} install --no-audit --no-fund\n`,
    });
    expect(out).not.toMatch(/^ *npm install/m);
  });

  it("is run again by hand where npm fails; the files stay", async () => {
    const { code, out } = await withNpm("exit 3");
    expect(code).toBe(1);
    expect(out).toContain(`  - \`npm install\` ended with code 3: run it again in ${folder}.\n`);
    expect(out.split("Next:\n")[1]).toMatch(/^ {2}npm install\n/);
    expect(existsSync(join(folder, STACK))).toBe(true);
  });
});
