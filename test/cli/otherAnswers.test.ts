import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readContainers } from "@local-serving/machines/docker/containers";
import { dockerJson } from "@local-serving/machines/docker/docker";
import { modelFolder } from "@local-serving/machines/hubCache";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../layers/temporaryFolder";
import { STACK_TEXT } from "./doctor/stack";
import { type Answers, FakeDocker } from "./fakeDocker";
import { runServing } from "./runServing";

const folder = temporaryFolder("other-answers-");
const file = (name: string, text: string) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

/** What a call says of a docker that answers like this. */
async function said(answers: Answers, call: () => Promise<unknown>): Promise<string> {
  const { PATH } = process.env;
  process.env.PATH = new FakeDocker(answers).env.PATH;
  try {
    return await call().then(
      () => "nothing",
      (error: Error) => `${error.name}: ${error.message}`,
    );
  } finally {
    process.env.PATH = PATH;
  }
}

const REMEDY = (command: string) =>
  `Run \`docker ${command}\` there yourself: anything else that prints, such as a login script or a wrapper around docker, must print to stderr.`;

describe("a docker that prints something else", () => {
  it.each([
    ["Welcome to dgx!\n[]", "printed `Welcome to dgx!`"],
    ["", "printed nothing"],
    [`{"a": ${"x".repeat(500)}`, `printed \`{"a": ${"x".repeat(114)}\``],
    ["token=hunter2\u001b[31m", "printed `token=<redacted>[31m`"],
  ])("is told what was asked and what came: %j", async (out, words) => {
    expect(
      await said({ info: { out } }, () =>
        dockerJson(["info", "--format", "{{json .}}"], "unix:///x"),
      ),
    ).toBe(`Failed: docker info (unix:///x) ${words} instead of JSON. ${REMEDY("info")}`);
  });

  it("is no list of containers", async () => {
    expect(
      await said({ ps: { out: "Welcome to dgx!\nabc\n" } }, () => readContainers("unix:///x")),
    ).toContain("docker ps (unix:///x) printed `Welcome to dgx!` instead of ids of containers.");
    for (const out of ["{}", "null", "3"])
      expect(
        await said({ ps: { out: "abc\n" }, inspect: { out } }, () => readContainers("unix:///x")),
      ).toContain(`docker inspect (unix:///x) printed \`${out}\` instead of a list.`);
    expect(
      await said({ ps: { out: "abc\n" }, inspect: { out: "[{}]" } }, () =>
        readContainers("unix:///x"),
      ),
    ).toBe("nothing");
  });

  it("ends no command with a bug", async () => {
    const stack = file("Pulumi.x.yaml", STACK_TEXT);
    const noise = { out: "Last login: Tue\nhf_Zk3mQ8vT1xWcRb7NdLpY5s\n" };
    const docker = new FakeDocker({
      ps: noise,
      inspect: noise,
      info: noise,
      images: noise,
      image: noise,
      manifest: noise,
      network: noise,
      volume: noise,
      version: noise,
    });
    for (const command of [
      "status",
      "drift",
      "inventory",
      "verify",
      "wait",
      "fetch --check",
      "inventory --leftovers",
      "doctor",
      "pin vllm/vllm-openai:v0.30.0",
    ]) {
      const timeout = command === "wait" ? ["--timeout", "1"] : [];
      const { code, out, err } = await runServing(
        [...command.split(" "), "--file", stack, ...timeout],
        docker.env,
      );
      expect([0, 1, 2], command).toContain(code);
      expect(out + err, command).not.toMatch(
        /bug in local-serving|not valid JSON|SyntaxError|hf_Zk3mQ8/,
      );
    }
  });
});

describe("names that no file has", () => {
  const long = "x".repeat(5000);

  it.each([
    ["plan", "--file", `${long}.yaml`],
    ["plan", "--stack", long],
    ["plan", "--meminfo", long],
    ["plan", "--file", "Pulumi.dgx.yaml", "--out", long],
    ["kv", "--config", long, "--available", "1GiB"],
    ["doctor", "--log", long],
    ["init", "--name", long],
    ["config", "check", "automation", long],
    ["config", "check", "providers", `/${long}`],
    ["config", "check", "analytics", long],
    ["config", "set", "analytics", "redaction_mode", "code", "--config", long],
    ["config", "init", "automation", long],
  ])("are wrong use: serving %s %s", async (...args: string[]) => {
    const { code, out, err } = await runServing(args);
    expect([code, out + err]).toEqual([2, expect.stringContaining(long.slice(0, 100))]);
    expect(err).not.toContain("This is a bug");
  });

  it.each([
    [["plan", "--file", `${long}.yaml`]],
    [["config", "check", "automation", long]],
    [["kv", "--config", long, "--available", "20GiB"]],
  ])("are told as too long: %#", async (args) => {
    const { out, err } = await runServing(args);
    expect(out + err).toContain("the file name is too long");
  });

  it("are told as a path through a file, and as links in a circle", async () => {
    const through = join(file("a.yaml", ""), "b.yaml");
    expect((await runServing(["plan", "--file", through])).err).toContain(
      "a part of its path is a file, not a directory",
    );
  });
});

describe("words that JavaScript or a path keeps", () => {
  const base = readFileSync("Pulumi.dgx.yaml", "utf8");
  const changed = (from: string, to: string) => {
    expect(base).toContain(from);
    return base.replace(from, to);
  };

  it.each([
    ["bridge.servers.0", changed("port: 8787\n", "port: 8787\n        servers: [constructor]\n")],
    ["bridge.servers.0", changed("port: 8787\n", "port: 8787\n        servers: [constructor.b]\n")],
    [
      "bridge.servers.0",
      changed("port: 8787\n", "port: 8787\n        servers: [dgx.constructor]\n"),
    ],
    [
      "chatUi.connections.0",
      changed("port: 8080\n", "port: 8080\n        connections: [constructor]\n"),
    ],
    [
      "chatUi.embeddingServer",
      changed("port: 8080\n", "port: 8080\n        embeddingServer: constructor\n"),
    ],
    ["clients.codex.server", changed("codex: {}", "codex: {server: constructor}")],
    ["machines.constructor", changed("    dgx:\n", "    constructor:\n")],
    ["inferenceServers.constructor", changed("        b:\n", "        constructor:\n")],
  ])("are a fault where a server is named: %s", async (path, text) => {
    const { code, err } = await runServing(["plan", "--file", file("Pulumi.y.yaml", text)]);
    expect(code).toBe(1);
    expect(err).toMatch(
      new RegExp(
        `${path.replaceAll(".", "\\.")}: .*This word is reserved by JavaScript: expected another name`,
      ),
    );
  });

  it.each([".", "..", "__proto__", "constructor", "toString", "a/..", "x".repeat(5000)])(
    "are plain as a model's id: %s",
    async (id) => {
      const text = changed("id: nvidia/Qwen3.6-35B-A3B-NVFP4", `id: ${id}`);
      const { code, out } = await runServing([
        "plan",
        "--file",
        file("Pulumi.y.yaml", text),
        "--format",
        "json",
      ]);
      expect([0, 1]).toContain(code);
      const { machines } = JSON.parse(out) as { machines: { kv: Record<string, unknown> }[] };
      // Nothing of what lies beside or above models/ is taken for its config.
      expect(Object.values(machines[0]?.kv ?? {})).toEqual([null]);
    },
  );

  it("name no folder above", () => {
    expect(["..", ".", "a/b", "a/.."].map(modelFolder)).toEqual(["%2E%2E", "%2E", "a--b", "a--.."]);
  });
});
