import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { projectAbove } from "../../bundle/project.cjs";
import { rendered } from "../../cli/init/command/recipe";
import { freePort } from "../../cli/init/settings";
import { temporaryFolder } from "../layers/temporaryFolder";
import { runServing } from "./runServing";

const folder = temporaryFolder("bad-inputs-");
const at = (name: string) => join(folder, name);
/** Names that every JavaScript object has. */
const NAMES = ["constructor", "__proto__", "toString", "hasOwnProperty"];

beforeAll(() => {
  execFileSync("mkfifo", [at("pipe")]);
  mkdirSync(at("folder"));
  symlinkSync("/dev/ptmx", at("waits"));
  symlinkSync("/dev/zero", at("endless"));
  symlinkSync(at("circle"), at("circle"));
  writeFileSync(at("binary"), Buffer.from([0xff, 0xfe, 0, 1, 0x80]));
  writeFileSync(at("huge"), "");
  truncateSync(at("huge"), 4 * 1024 ** 3);
  writeFileSync(at("empty.json"), "{}");
});

const THINGS = ["pipe", "folder", "waits", "endless", "circle", "huge", "gone", "x".repeat(300)];

describe.each([
  ["plan --file FILE"],
  ["plan --meminfo FILE"],
  ["plan --policy-config FILE"],
  ["plan --against FILE"],
  ["kv --available 20GiB --config FILE"],
  ["models add org/model --config FILE"],
  ["doctor --inspect FILE"],
  ["doctor --listeners FILE"],
  ["doctor --verify FILE"],
  ["doctor --meminfo FILE"],
  ["init --name other --yes --from FILE"],
  ["config check automation FILE"],
  ["config check automation EMPTY --mapping FILE"],
  ["config check automation EMPTY --registry FILE"],
  ["config check automation EMPTY --providers FILE"],
  ["config check providers FILE"],
  ["config check analytics FILE"],
  ["config check analytics EMPTY --dotenv FILE"],
  ["config show analytics --config FILE"],
  ["config freeze automation FILE --out /nowhere/contract.json"],
  ["gate coverage --contract FILE"],
])("%s", (line) => {
  it.each(THINGS)("refuses %s in a sentence", async (name) => {
    const args = line.replace("FILE", at(name)).replace("EMPTY", at("empty.json")).split(" ");
    const { code, out, err } = await runServing(args);
    expect(code).toBe(2);
    expect(out + err).toContain(at(name).slice(0, 60));
    expect(out + err).not.toContain("This is a bug");
  });
});

describe("a name that every object has", () => {
  it.each(NAMES)("is an unknown placeholder of a recipe: %s", (name) => {
    expect(rendered(`vllm serve {model} --port {${name}}`, { model: "m/x" })).toBe(
      `vllm serve m/x --port {${name}}`,
    );
    expect(rendered(`a {{"b"}} {${name}}`, {})).toBe(`a {"b"} {${name}}`);
  });

  it.each(
    NAMES.flatMap((name) => [
      ["plan", name],
      ["models", "show", name],
      ["models", "use", "qwen", "--server", name],
      ["wait", name],
      ["verify", "--only", name],
      ["stop", name],
      ["doctor", "--log", "/dev/null", "--server", name],
      ["inventory", "--machine", name],
      ["plan", "--stack", name],
      ["help", name],
      ["config", "show", "analytics", "--set", `${name}=1`],
      ["init", "--name", "x", "--from-command", `vllm serve m/x --${name} 1`],
      ["init", "--name", "x", "--from-command", `model: m/x\nruntime: vllm\n${name}: 1\n`],
    ]),
  )("is no bug: %s %s %s %s", async (...args) => {
    const { code, err } = await runServing(args);
    expect([1, 2]).toContain(code);
    expect(err).not.toContain("This is a bug");
  });
});

describe("what has no end or no room", () => {
  it("no project is where a pipe or a folder is in the place of its Pulumi.yaml", () => {
    const above = temporaryFolder("above-");
    const [piped, below] = [join(above, "piped"), join(above, "piped/folder/below")];
    mkdirSync(join(below, "Pulumi.yaml"), { recursive: true });
    writeFileSync(join(above, "Pulumi.yaml"), "name: local-serving\n");
    execFileSync("mkfifo", [join(piped, "Pulumi.yaml")]);
    expect(projectAbove(below)).toBe(above);
  });

  it.each([
    `org/${"x".repeat(97)}`,
    `${"o".repeat(97)}/model`,
    `org/${"x".repeat(300)}`,
    `${"o".repeat(5000)}/x`,
    "../x/y",
  ])("no model is added by a name that is none", async (id) => {
    const { code, err } = await runServing(["models", "add", id, "--config", at("empty.json")]);
    expect([code, err]).toEqual([
      2,
      `${id.slice(0, 200)}: expected a hub id such as org/model, each part of at most 96 characters.\n`,
    ]);
  });

  it("no port is chosen where every one is taken", () => {
    const all = Array.from({ length: 65_536 }, (_, port) => port);
    const docker = { reachable: false, reason: "" } as const;
    expect(() => freePort(8001, { ports: all, docker }, { name: "dgx" })).toThrow(
      "Every port from 8001 to 65535 is taken on this machine: end what listens on some of them, then run this again.",
    );
    expect(freePort(8001, { ports: all.slice(0, -1), docker }, { name: "dgx" })).toBe(65_535);
    expect(freePort(8001, { ports: [], docker }, { name: "dgx", port: 8001 })).toBe(8002);
  });
});
