import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { stringify } from "yaml";
import * as pin from "../../operate/packages/pin";
import { version } from "../../package.json";
import { serverInput } from "../fixtures/machine";
import { temporaryFolder } from "../layers/temporaryFolder";
import { digestOf, standInRegistry } from "./pin/standInRegistry";
import { runServing } from "./runServing";

const STACK = `config:
  local-serving:machines:
    dgx: { totalGiB: 121.63, instanceA: none }
`;

/**
 * A newer release, whose plan says what it was asked and where. Its arguments are read by commander,
 * which reads those of `node -e` otherwise.
 */
const RELEASE = `exports.run = (name) => {
  if (process.execArgv.length > 0) throw new Error(process.execArgv[0]);
  console.log("## Plan of the newer one");
  console.log([name, ...process.argv.slice(2)].join(" "), "in", process.cwd());
};`;

/** An npm that knows a release, or says why not; it notes what it was called with. */
const npm = (answers: string) => `#!/bin/sh
echo "$PWD $*" >> "$NPM_CALLS"
case $1 in
view) ${answers} ;;
install)
  [ "$2" = --no-audit ] || exit 9
  if [ -n "$4" ]; then
    mkdir -p node_modules/local-serving/bundle
    cp "$NPM_RELEASE" node_modules/local-serving/bundle/run.cjs
  fi ;;
esac
`;

let folder: string;
let calls: string;
// `upgradeUnpublished.test.ts` has a program that isn't on npm.
afterEach(() => void vi.restoreAllMocks());
beforeEach(() => {
  vi.spyOn(pin, "isOnNpm").mockReturnValue(true);
  folder = temporaryFolder("upgrade-command-");
  calls = join(folder, "calls");
  writeFileSync(join(folder, "Pulumi.yaml"), "name: local-serving\n");
  writeFileSync(join(folder, "Pulumi.spark.yaml"), STACK);
  writeFileSync(join(folder, "release.cjs"), RELEASE);
  pinned("0.1.0");
});

const pinned = (pin: string) =>
  writeFileSync(
    join(folder, "package.json"),
    `{ "private": true,\n\t"dependencies": {"local-serving":  "${pin}", "other": "1.0.0"} }\n`,
  );
const manifest = () => readFileSync(join(folder, "package.json"), "utf8");

async function upgrade(answers: string, ...args: string[]) {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "npm"), npm(answers));
  chmodSync(join(bin, "npm"), 0o755);
  const before = process.cwd();
  process.chdir(folder);
  try {
    return await runServing(["upgrade", "--stack", "spark", ...args], {
      PATH: `${bin}:${process.env.PATH}`,
      NPM_CALLS: calls,
      NPM_RELEASE: join(folder, "release.cjs"),
    });
  } finally {
    process.chdir(before);
  }
}

const NEWER = `echo '"99.0.0"'`;

describe("serving upgrade", () => {
  it("shows the newer release's own plan, and changes nothing", async () => {
    const { code, out, err } = await upgrade(NEWER);
    expect(err).toBe(
      "Asking npm for the newest release ...\nInstalling 99.0.0 beside it, to see its plan ...\n",
    );
    expect(code).toBe(0);
    expect(out).toBe(
      `local-serving 99.0.0 is newer than 0.1.0, which ${folder}/package.json pins. Its own plan:

## Plan of the newer one
serving plan --file ${folder}/Pulumi.spark.yaml --against applied --format markdown in ${folder}

Next:
  serving upgrade --write
  serving up
`,
    );
    expect(manifest()).toContain('"local-serving":  "0.1.0"');
    const [view, install, ...more] = readFileSync(calls, "utf8").trim().split("\n");
    expect(view).toBe(`${folder} view local-serving version --json`);
    expect(install).toMatch(/^\S+ install --no-audit --no-fund local-serving@99\.0\.0$/);
    expect(more).toEqual([]);
    const own = install?.split(" ")[0] ?? "";
    expect([own === folder, existsSync(own)]).toEqual([false, false]);
  });

  it("shows its whole plan where nothing is applied yet", async () => {
    writeFileSync(
      join(folder, "release.cjs"),
      "exports.run = () => { if (process.argv.includes('--against')) process.exit(2); console.log('whole', ...process.argv.slice(2)); };",
    );
    const { code, out } = await upgrade(NEWER);
    expect([code, out]).toEqual([
      0,
      expect.stringContaining(`whole plan --file ${folder}/Pulumi.spark.yaml\n`),
    ]);
  });

  it("with --write pins it, leaves every other letter, and installs", async () => {
    const { code, out } = await upgrade(NEWER, "--write");
    expect(code).toBe(0);
    expect(out).toContain(`${folder}/package.json pins 99.0.0 now; it had "0.1.0".`);
    expect(manifest()).toBe(
      `{ "private": true,\n\t"dependencies": {"local-serving":  "99.0.0", "other": "1.0.0"} }\n`,
    );
    expect(readFileSync(calls, "utf8").trim().split("\n").at(-1)).toBe(
      `${folder} install --no-audit --no-fund`,
    );
  });

  it("with --no-install says what is left to run", async () => {
    const { out } = await upgrade(NEWER, "--write", "--no-install");
    expect(out).toMatch(/Next:\n {2}npm install\n {2}serving up\n$/);
    expect(readFileSync(calls, "utf8")).not.toMatch(/install --no-audit --no-fund$/m);
  });

  it("says where the pin is the newest; a tarball is this version", async () => {
    pinned("99.0.0");
    expect(await upgrade(NEWER)).toMatchObject({
      code: 0,
      out: "local-serving 99.0.0 is the newest release.\n",
    });
    pinned("file:../local-serving.tgz");
    expect((await upgrade(`echo '"${version}"'`)).out).toBe(
      `local-serving ${version} is the newest release.\n`,
    );
    const { out } = await upgrade(NEWER, "--format", "json");
    expect(JSON.parse(out)).toMatchObject({
      pinned: "file:../local-serving.tgz",
      newest: "99.0.0",
      isNewer: true,
      written: false,
    });
  });

  it("says what npm says where it knows no release, or can't ask", async () => {
    expect(await upgrade("echo 'npm error code E404' >&2; exit 1")).toMatchObject({
      code: 1,
      err: expect.stringContaining("npm's registry has no local-serving."),
    });
    const down =
      "echo 'npm error network timeout' >&2; echo 'npm error A complete log of this run can be found in: x' >&2; exit 1";
    expect(await upgrade(down)).toMatchObject({
      code: 1,
      err: expect.stringContaining(
        "npm can't say which release is the newest: npm error network timeout",
      ),
    });
  });

  it("shows why a release can't plan, and keeps the pin", async () => {
    writeFileSync(
      join(folder, "release.cjs"),
      "exports.run = () => { console.error('no'); process.exit(2); };",
    );
    expect(await upgrade(NEWER, "--write")).toMatchObject({
      code: 1,
      err: expect.stringContaining("local-serving@99.0.0 can't plan"),
    });
    expect(manifest()).toContain('"local-serving":  "0.1.0"');
  });

  it("takes no folder that pins nothing, and says what finds newer images", async () => {
    writeFileSync(join(folder, "package.json"), "{}\n");
    expect(await upgrade(NEWER)).toMatchObject({
      code: 2,
      err: expect.stringContaining("pins no local-serving: this program runs from a clone."),
    });
    const { err } = await upgrade(NEWER);
    expect(err).toContain("`serving pin --newer` lists newer images.");
  });
});

describe("the images that serving upgrade lists", () => {
  const LITELLM = "berriai/litellm";
  /** A stack file with a server and a bridge on each machine, and registries of both images. */
  async function withImages(names: readonly string[]) {
    const [vllm, bridge] = await Promise.all([
      standInRegistry("vllm/vllm-openai", ["v0.30.0", "v0.31.0"]),
      standInRegistry(LITELLM, ["v1.82.7", "v1.82.8"]),
    ]);
    const machine = (port: number, name: string) => ({
      totalGiB: 121.63,
      instanceA: "none",
      ...(names.length > 1 ? { dockerHost: `ssh://me@${name}`, home: "/home/me" } : {}),
      inferenceServers: {
        b: serverInput({
          port,
          image: `${vllm.address}/vllm/vllm-openai:v0.30.0@${digestOf("v0.30.0")}`,
        }),
      },
      bridge: { image: `${bridge.address}/${LITELLM}:v1.82.7@${digestOf("v1.82.7")}` },
      chatUi: { image: `localhost:1/open-webui/open-webui:v0.11.3@${digestOf("v0.11.3")}` },
    });
    const machines = Object.fromEntries(names.map((name, at) => [name, machine(8001 + at, name)]));
    const config = stringify({ config: { "local-serving:machines": machines } });
    writeFileSync(join(folder, "Pulumi.spark.yaml"), config);
  }

  it("are those of the stack file, each with what is newer and the command for its page", async () => {
    await withImages(["dgx"]);
    pinned("99.0.0");
    const { code, out } = await upgrade(NEWER);
    expect(code).toBe(1);
    expect(out).toBe(`local-serving 99.0.0 is the newest release.

Images of the stack file:
           pinned  newest
  b        0.30.0  0.31.0  serving upgrade b
  bridge   1.82.7  -       each newer release is refused: 1.82.8
  chat-ui  0.11.3  -       localhost:1: nothing listens there (connection refused).
`);
    const { images, ...program } = JSON.parse((await upgrade(NEWER, "--format", "json")).out);
    expect(program).toEqual({
      ...{
        version: 1,
        pinned: "99.0.0",
        newest: "99.0.0",
        isNewer: false,
        plan: null,
        written: false,
      },
    });
    expect(images.map(({ name, command }: Record<string, string>) => [name, command])).toEqual([
      ["b", "serving upgrade b"],
      ["bridge", null],
      ["chat-ui", null],
    ]);
    const page = await upgrade(NEWER, "b");
    expect(page.code).toBe(0);
    expect(page.out).toMatch(/^dgx\.inferenceServers\.b: 0\.30\.0 -> 0\.31\.0\n/);
    expect(page.out).toMatch(/\n {2}serving upgrade b --write\n {2}serving up --verified\n$/);
  });

  it("are named with their machine where two have one name", async () => {
    await withImages(["dgx1", "dgx2"]);
    const { images } = JSON.parse((await upgrade(NEWER, "--format", "json")).out);
    expect(images.flatMap(({ command }: Record<string, string>) => command ?? [])).toEqual([
      "serving upgrade dgx1.b",
      "serving upgrade dgx2.b",
    ]);
    const { out } = await upgrade(NEWER, "dgx2.b");
    expect(out).toMatch(/^dgx2\.inferenceServers\.b: /);
  });

  it("are listed where npm says nothing; a stack file with faults lists none", async () => {
    await withImages(["dgx"]);
    const failing = "echo 'npm error network timeout' >&2; exit 1";
    const { code, out, err } = await upgrade(failing);
    expect([code, err]).toEqual([1, expect.stringContaining("npm can't say which release")]);
    expect(out).toMatch(/^Images of the stack file:\n/);
    const { problem, newest } = JSON.parse((await upgrade(failing, "--format", "json")).out);
    expect([problem, newest]).toEqual([expect.stringContaining("network timeout"), null]);
    writeFileSync(join(folder, "Pulumi.spark.yaml"), "config: { local-serving:machines: 7 }\n");
    pinned("99.0.0");
    const faulty = await upgrade(NEWER);
    expect([faulty.code, faulty.out]).toEqual([0, "local-serving 99.0.0 is the newest release.\n"]);
    expect(faulty.err).toContain("Images are not listed: ");
  });
});
