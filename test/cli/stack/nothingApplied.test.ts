import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { stringify } from "yaml";
import { serverInput } from "../../fixtures/machine";
import { BRIDGE, CHAT_UI } from "../../fixtures/services";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { markApplied } from "../applied";
import { type Answers, FakeDocker } from "../fakeDocker";
import { runServing } from "../runServing";

const NOTHING = "Nothing is applied yet: run `serving up`.\n";
const EMPTY: Answers = { "ps --all": { out: "" } };
const UNREACHABLE: Answers = {
  "ps --all": { err: "Cannot connect to the Docker daemon. Is it running?\n", code: 1 },
};

/** Runs a command in a folder with a fresh stack file of its own. */
async function fresh(args: readonly string[], answers: Answers, home = temporaryFolder("fresh-")) {
  const project = join(home, "spark");
  mkdirSync(project, { recursive: true });
  writeFileSync(join(project, "Pulumi.yaml"), "name: local-serving\n");
  const dgx = {
    totalGiB: 121.63,
    instanceA: { gpuMemoryUtilization: 0.4 },
    inferenceServers: { b: serverInput({ port: 8041 }) },
    ...{ bridge: { ...BRIDGE, port: 8047 }, chatUi: { ...CHAT_UI, port: 8048 } },
    simpleServer: { mode: "host" },
    clients: { host: "dgx.local", claudeCode: { via: "bridge" } },
  };
  const open = { ...dgx, bridge: { ...dgx.bridge, listen: "0.0.0.0", keyVariable: "A_KEY" } };
  const machines = { dgx: args[0] === "clients" ? open : dgx };
  writeFileSync(
    join(project, "Pulumi.spark.yaml"),
    stringify({ config: { "local-serving:machines": machines } }),
  );
  vi.spyOn(process, "cwd").mockReturnValue(project);
  onTestFinished(() => void vi.restoreAllMocks());
  const docker = new FakeDocker(answers);
  const env = { ...docker.env, HOME: home, PULUMI_HOME: join(home, ".pulumi"), A_KEY: "" };
  return { ...(await runServing(args, env)), project };
}

describe.each([
  ["with an engine that has nothing", EMPTY],
  ["where no engine answers", UNREACHABLE],
])("before the first `up`, %s", (_, answers) => {
  it.each([
    ["status"],
    ["wait"],
    ["verify"],
    ["verify b"],
    ["verify --only containers,chat"],
    ["drift"],
    ["logs b"],
    ["logs chat-ui"],
    ["stop b"],
    ["start b"],
    ["start bridge"],
    ["bench"],
    ["backup chat-ui"],
    ["restore chat-ui"],
  ])("%s says only what to run", async (line) => {
    const { code, out, err } = await fresh(line.split(" "), answers);
    expect([code, out, err]).toEqual([1, "", NOTHING]);
    const asked = await fresh([...line.split(" "), "--format", "json"], answers);
    const fault = { path: "", code: "nothing_applied", message: NOTHING.trim(), severity: "error" };
    expect([asked.code, asked.err]).toEqual([1, NOTHING]);
    expect(JSON.parse(asked.out)).toEqual({ version: 1, faults: [fault] });
  });

  it.each([
    ["refresh", NOTHING],
    ["down --yes", "Nothing is applied, so there is nothing to remove.\n"],
  ])("%s does nothing, and makes no state", async (line, said) => {
    const { code, out, err, project } = await fresh(line.split(" "), answers);
    expect([code, out, err]).toEqual([0, "", said]);
    expect(existsSync(join(project, ".pulumi-state"))).toBe(false);
  });

  it.each([["applied"], ["verified"]])("a review of what is %s says it", async (source) => {
    const { code, out, err } = await fresh(["plan", "--against", source], answers);
    expect([code, out, err]).toEqual([2, "", NOTHING]);
  });

  it("clients export writes the files, and says it behind them", async () => {
    const { code, out, err } = await fresh(["clients", "export", "/dev/null/laptop"], answers);
    expect([code, out]).toEqual([2, ""]);
    expect(err).not.toContain("Docker");
    const folder = join(temporaryFolder("laptop-"), "laptop");
    const written = await fresh(["clients", "export", folder], answers);
    expect([written.code, written.err]).toEqual([0, ""]);
    expect(written.out.split("\n").slice(1)).toEqual(NOTHING.split("\n"));
  });

  it("doctor says it first, and misses no container and no file", async () => {
    const { err, out } = await fresh(["doctor", "--format", "json"], answers);
    expect(err.startsWith(NOTHING)).toBe(true);
    const { diagnoses } = JSON.parse(out) as { diagnoses: { id: string }[] };
    const ids = diagnoses.map(({ id }) => id);
    expect(ids).not.toContain("container-not-running");
    expect(ids).not.toContain("stale-file");
    expect(ids.includes("docker-unreachable")).toBe(answers === UNREACHABLE);
  });
});

describe("before the first `up`", () => {
  it("inventory lists what else is there, and without an engine says only what to run", async () => {
    const { code, out } = await fresh(["inventory"], EMPTY);
    expect([code, out]).toEqual([0, `${NOTHING}\nMachine dgx\n\ncontainer: none\n\nvenv: none\n`]);
    for (const more of [[], ["--leftovers"]]) {
      const none = await fresh(["inventory", ...more], UNREACHABLE);
      expect([none.code, none.out, none.err]).toEqual([1, "", NOTHING]);
    }
  });

  it.each([
    ["stop simpleServer", "Ollama is systemd's: run `sudo systemctl stop ollama.service`.\n"],
    ["logs instanceA", "Instance A isn't ours: whoever starts it knows where its log is.\n"],
  ])("%s is told as ever: it isn't ours", async (line, said) => {
    expect((await fresh(line.split(" "), EMPTY)).err).toBe(said);
  });
});

describe("once something is applied", () => {
  it("commands go by Docker again, by the record or by a container", async () => {
    const home = temporaryFolder("applied-");
    markApplied(home, "dgx");
    const { err } = await fresh(
      ["stop", "b"],
      { stop: { err: "No such container: b", code: 1 } },
      home,
    );
    expect(err).toBe(
      "There is no container vllm-model-8041 on dgx: `serving up --refresh` makes it.\n",
    );
    const found = {
      Id: "abc",
      Name: "/litellm-8047",
      State: { Status: "running" },
      Config: { Image: "x" },
    };
    const answers = {
      "ps --all": { out: "abc\n" },
      inspect: { out: JSON.stringify([found]) },
      logs: { out: "hello\n" },
    };
    expect((await fresh(["logs", "bridge"], answers)).out).toBe("hello\n");
  });
});
