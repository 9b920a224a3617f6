import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { scripts } from "../../package.json";
import { stackInput } from "../fixtures/machine";
import { run } from "../layers/run";
import { temporaryFolder } from "../layers/temporaryFolder";

const PROJECT = resolve(__dirname, "../..");

let folder = "";
beforeEach(() => {
  folder = temporaryFolder("engine-command-");
  const pulumi = '#!/bin/sh\nprintf "%s\\n" "$*" >>"$LOG"\n';
  writeFileSync(join(folder, "pulumi"), pulumi, { mode: 0o755 });
  writeFileSync(join(folder, "log"), "");
});

const serving = (...args: string[]) =>
  run("node", [join(PROJECT, "bundle/serving.cjs"), ...args], {
    cwd: PROJECT,
    env: {
      PATH: `${folder}:${process.env.PATH}`,
      LOG: join(folder, "log"),
      PULUMI_BACKEND_URL: `file://${folder}`,
      PULUMI_CONFIG_PASSPHRASE: "",
    },
  });
const log = () => readFileSync(join(folder, "log"), "utf8").trim().split("\n");
/** The engine's last command line, without the log of its events. */
const ran = () =>
  log()
    .at(-1)
    ?.replace(/ --event-log \S+\/events$/, "");

describe("serving preview, up, refresh and down", () => {
  it("select the stack, then run the engine with the policy pack", async () => {
    expect(await serving("preview", "--diff")).toMatchObject({ code: 0 });
    expect(log()).toEqual([
      "stack select --create --stack dgx",
      `preview --stack dgx --policy-pack ${PROJECT}/policies --suppress-outputs --diff`,
    ]);
  });

  it("of a clone's sample say that it is one, unless somebody named it", async () => {
    const note =
      "dgx is this project's sample: `serving init` writes a stack file for your machine";
    for (const word of ["preview", "up"]) {
      expect((await serving(word, "--yes")).stderr).toContain(note);
      expect((await serving(word, "--stack", "dgx", "--yes")).stderr).not.toContain(note);
    }
    expect((await serving("down", "--yes")).stderr).not.toContain(note);
  });

  it.each(["preview", "up"])("say last why the program refused it: %s", async (word) => {
    const refuses = `[ -z "$LOCAL_SERVING_REFUSAL" ] || { printf 'Refused, and why.' >"$LOCAL_SERVING_REFUSAL"; exit 1; }`;
    const pulumi = `#!/bin/sh\ncase $1 in ${word}) ${refuses} ;; esac\n`;
    writeFileSync(join(folder, "pulumi"), pulumi, { mode: 0o755 });
    const { code, stderr } = await serving(word, "--stack", "dgx", "--yes");
    expect(code).toBe(1);
    expect(stderr).toMatch(/(?:^|\n)Refused, and why\.\n$/);
    expect((await serving(word, "--stack", "dgx", "--yes", "--json")).stderr).not.toContain("why");
  });

  it("make no state where the packages are not installed, and say what installs them", async () => {
    const project = join(folder, "project");
    mkdirSync(project);
    writeFileSync(
      join(project, "Pulumi.yaml"),
      "name: local-serving\nmain: node_modules/local-serving/program.cjs\nruntime: nodejs\n",
    );
    writeFileSync(join(project, "Pulumi.dgx.yaml"), "config: {}\n");
    const { code, stderr } = await run(
      "node",
      [join(PROJECT, "bundle/serving.cjs"), "up", "--stack", "dgx", "--yes"],
      { cwd: project, env: { PATH: `${folder}:${process.env.PATH}`, HOME: folder } },
    );
    expect([code, stderr]).toEqual([
      1,
      `${project} has no node_modules/local-serving/program.cjs, which the engine runs. Run \`npm install\` there first.\n`,
    ]);
    expect(readdirSync(project).sort()).toEqual(["Pulumi.dgx.yaml", "Pulumi.yaml"]);
  });

  it.each(["up", "down", "refresh"])(
    "first clear what an engine left that was killed: %s",
    async (word) => {
      const locks = join(folder, ".pulumi/locks/organization/local-serving/dgx");
      mkdirSync(locks, { recursive: true });
      const dead = 2 ** 22 + 1; // More than the kernel gives a process.
      const lock = JSON.stringify({ pid: dead, hostname: hostname() });
      writeFileSync(join(locks, "1.json"), lock);
      writeFileSync(join(locks, "1.json.attrs"), "");
      const { stderr } = await serving(word, "--yes");
      expect(existsSync(join(locks, "1.json.attrs"))).toBe(false);
      expect(stderr).toContain(`The engine (process ${dead}) was killed: its lock is removed.\n`);
      expect(log().slice(0, 3)).toEqual([
        "cancel --yes --stack dgx",
        "stack export --stack dgx",
        "stack select --create --stack dgx",
      ]);
    },
  );

  it.each(["up", "down", "refresh"])("clear nothing for a look alone: %s", async (word) => {
    const locks = join(folder, ".pulumi/locks/organization/local-serving/dgx");
    mkdirSync(locks, { recursive: true });
    const lock = JSON.stringify({ pid: 2 ** 22 + 1, hostname: hostname() });
    writeFileSync(join(locks, "1.json"), lock);
    expect((await serving(word, "--preview-only")).stderr).not.toContain("was killed");
    expect(log().join("\n")).not.toMatch(/^cancel/m);
    expect(existsSync(join(locks, "1.json"))).toBe(true);
  });

  it("leave the lock of an engine that may still run to the engine", async () => {
    const locks = join(folder, ".pulumi/locks/organization/local-serving/dgx");
    mkdirSync(locks, { recursive: true });
    const lock = JSON.stringify({ pid: process.pid, hostname: hostname() });
    writeFileSync(join(locks, "1.json"), lock);
    expect((await serving("up", "--yes")).stderr).not.toContain("was killed");
    expect(log()[0]).toBe("stack select --create --stack dgx");
  });

  it("leave --yes out of a preview and say why", async () => {
    const { code, stderr } = await serving("preview", "--yes");
    expect({ code, last: log().at(-1) }).toEqual({
      code: 0,
      last: `preview --stack dgx --policy-pack ${PROJECT}/policies --suppress-outputs`,
    });
    expect(stderr).toContain(
      "A preview changes nothing and asks nothing, so it needs no `--yes`.\n",
    );
  });

  it.each(["--json", "-j", "-dj"])("keep the outputs in what programs read: %s", async (option) => {
    expect(await serving("preview", option)).toMatchObject({ code: 0 });
    expect(log().at(-1)).toBe(`preview --stack dgx --policy-pack ${PROJECT}/policies ${option}`);
  });

  it("let an operator ask for the outputs, as the last one counts", async () => {
    expect(await serving("preview", "--suppress-outputs=false")).toMatchObject({ code: 0 });
    expect(log().at(-1)).toMatch(/ --suppress-outputs --suppress-outputs=false$/);
  });

  it.each([
    ["mandatory", "Refused, and nothing was changed.\n"],
    ["advisory", ""],
  ])("say last that an update was refused: %s", async (enforcementLevel, said) => {
    const event = JSON.stringify({ policyEvent: { enforcementLevel } });
    const pulumi = `#!/bin/sh\n[ "$1" = up ] || exit 0\nfor last; do :; done\necho '${event}' >"$last"\nexit 1\n`;
    writeFileSync(join(folder, "pulumi"), pulumi, { mode: 0o755 });
    const { code, stderr } = await serving("up", "--yes");
    expect(code).toBe(1);
    expect(stderr.endsWith(said)).toBe(true);
    expect(stderr.includes("Refused")).toBe(said !== "");
  });

  it.each([
    [
      "a container",
      "docker:index/container:Container",
      /Next: (?:npx --no -- )?serving status --wait, then (?:npx --no -- )?serving verify \(b answers after \d+ to \d+ min, or [^\n]+\)\n$/,
    ],
    ["nothing", "pulumi:pulumi:Stack", /^(?![\s\S]*Next: )/],
  ])("say last what to run after an update that made %s", async (_, type, said) => {
    const urn = "urn:pulumi:dgx::local-serving::x::dgx-b";
    const event = JSON.stringify({ resourcePreEvent: { metadata: { op: "create", type, urn } } });
    const pulumi = `#!/bin/sh\n[ "$1" = up ] || exit 0\nfor last; do :; done\necho '${event}' >"$last"\n`;
    writeFileSync(join(folder, "pulumi"), pulumi, { mode: 0o755 });
    const { code, stderr } = await serving("up", "--yes");
    expect(code).toBe(0);
    expect(stderr).toMatch(said);
  });

  it("say after `down` what it left, and that the engine's advice is none here", async () => {
    const project = temporaryFolder("down-");
    const { machines } = stackInput({ dockerHost: "unix:///nonexistent.sock" });
    writeFileSync(join(project, "Pulumi.yaml"), "name: local-serving\n");
    const config = { "local-serving:machines": machines };
    writeFileSync(join(project, "Pulumi.spark.yaml"), stringify({ config }));
    const down = async (...options: string[]) => {
      const program = join(PROJECT, "bundle/serving.cjs");
      const env = { PATH: `${folder}:${process.env.PATH}`, LOG: join(folder, "log"), HOME: folder };
      const state = join(project, ".pulumi-state/.pulumi/stacks/local-serving");
      mkdirSync(state, { recursive: true });
      writeFileSync(
        join(state, "spark.json"),
        '{"checkpoint":{"latest":{"resources":[{"type":"docker:index/network:Network"}]}}}',
      );
      return run("node", [program, "down", "--yes", ...options], { cwd: project, env });
    };
    const { code, stderr } = await down();
    expect({ code, said: stderr.split("\n").slice(-4) }).toEqual({
      code: 0,
      said: [
        "Don't run `pulumi stack rm`: a bare `pulumi` looks for the stack in another place. Its state stays in .pulumi-state for the next `serving up`.",
        "`serving status --leftovers` lists what is left, each with the command that removes it.",
        "To remove the program too: node_modules/local-serving/docs/guide/uninstall.md.",
        "",
      ],
    });
    expect(await down("--preview-only")).toMatchObject({ code: 0, stderr: "" });
  });

  it("hand --yes on to an update", async () => {
    expect(await serving("up", "--yes")).toMatchObject({ code: 0 });
    expect(ran()).toBe(`up --stack dgx --policy-pack ${PROJECT}/policies --suppress-outputs --yes`);
  });

  it.each(["-s", "--stack"])(
    "name the stacks that exist for one that doesn't: %s",
    async (option) => {
      const { code, stderr } = await serving("preview", option, "nope");
      expect({ code, log: log() }).toEqual({ code: 2, log: [""] });
      expect(stderr).toContain(`No Pulumi.nope.yaml in ${PROJECT}. Stacks there: dgx`);
    },
  );

  it("run no policy pack where nothing is planned, and ask as Pulumi does", async () => {
    expect(await serving("refresh", "--preview-only")).toMatchObject({ code: 0 });
    expect(ran()).toBe("refresh --stack dgx --preview-only");
    expect(await serving("refresh", "--yes", "--skip-preview")).toMatchObject({ code: 0 });
    expect(ran()).toBe("refresh --stack dgx --yes --skip-preview");
    expect(await serving("down", "--target", "urn")).toMatchObject({ code: 0 });
    expect(ran()).toBe("destroy --stack dgx --target urn");
  });

  it.each(["-f", "-yf", "--skip-preview", "--skip-preview=true"])(
    "skip no preview that policies judge: %s",
    async (option) => {
      for (const word of ["preview", "up", "down"]) {
        const { code, stderr } = await serving(word, "--stack", "dgx", option);
        expect({ code, stderr, log: log() }).toEqual({
          code: 2,
          stderr: `${option}: the policies judge the preview, so it is never skipped.\n`,
          log: [""],
        });
      }
    },
  );

  it.each([
    ["--", "--stack", "other"],
    ["--", "-s", "other"],
    ["--yes", "--", "--stack=other"],
    ["-ys", "other"],
  ])("let Pulumi take no other stack than the one looked at: %s %s %s", async (...options) => {
    const { code, stderr } = await serving("down", ...options);
    expect({ code, log: log() }).toEqual({ code: 2, log: [""] });
    expect(stderr).toMatch(
      /^(--stack|-s|--stack=other|-ys): name the stack before the other options, as `--stack NAME`\.\n$/,
    );
  });

  it("hand on what stands behind --", async () => {
    expect(await serving("preview", "--", "--diff")).toMatchObject({ code: 0 });
    expect(log().at(-1)).toBe(
      `preview --stack dgx --policy-pack ${PROJECT}/policies --suppress-outputs --diff`,
    );
  });

  it("say to the program whether the state has nothing of the stack, where it is ours", async () => {
    const project = temporaryFolder("new-stack-");
    writeFileSync(join(project, "Pulumi.yaml"), "name: local-serving\n");
    writeFileSync(join(project, "Pulumi.spark.yaml"), "config: {}\n");
    const pulumi = '#!/bin/sh\necho "$1 $LOCAL_SERVING_NEW_STACK" >>"$LOG"\n';
    writeFileSync(join(folder, "pulumi"), pulumi, { mode: 0o755 });
    const PATH = `${folder}:${process.env.PATH}`;
    const env = { PATH, LOG: join(folder, "log"), HOME: folder };
    const asked = async (word: string, more = {}) => {
      const program = join(PROJECT, "bundle/serving.cjs");
      const { code } = await run("node", [program, word], {
        cwd: project,
        env: { ...env, ...more },
      });
      return [code, log().at(-1)];
    };
    expect(await asked("preview")).toEqual([0, "preview on"]);
    expect(await asked("up")).toEqual([0, "up on"]);
    const elsewhere = { PULUMI_BACKEND_URL: `file://${folder}`, PULUMI_CONFIG_PASSPHRASE: "" };
    expect(await asked("up", elsewhere)).toEqual([0, "up"]);
    const state = join(project, ".pulumi-state/.pulumi/stacks/local-serving");
    mkdirSync(state, { recursive: true });
    const kept = (type: string) =>
      writeFileSync(
        join(state, "spark.json"),
        `{"checkpoint":{"latest":{"resources":[{"type":"${type}"}]}}}`,
      );
    // What a refused `up` leaves.
    kept("pulumi:pulumi:Stack");
    expect(await asked("up")).toEqual([0, "up on"]);
    kept("docker:index/network:Network");
    expect(await asked("up")).toEqual([0, "up"]);
  });

  it("end with the exit code of Pulumi", async () => {
    writeFileSync(join(folder, "pulumi"), '#!/bin/sh\n[ "$1" = stack ] || exit 255\n', {
      mode: 0o755,
    });
    expect(await serving("refresh")).toMatchObject({ code: 255 });
  });

  it("are what the npm scripts run", () => {
    const { preview, up, down } = scripts;
    expect([preview, up, down]).toEqual(
      ["preview", "up", "down"].map((word) => `node bundle/serving.cjs ${word}`),
    );
  });
});
