import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { stringify } from "yaml";
import { serverInput } from "../../fixtures/machine";
import { BRIDGE, CHAT_UI } from "../../fixtures/services";
import { lookSooner } from "../../layers/lookSooner";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { type StandIn, startStandIn } from "../../stand-in/server";
import { FakeDocker, inspected } from "../fakeDocker";
import { runServing } from "../runServing";

lookSooner();

const folder = temporaryFolder("serving-wait-");
let server: StandIn;
beforeAll(async () => {
  server = await startStandIn(["m", "--host", "127.0.0.1", "--port", "0"]);
});
afterAll(async () => {
  await server.close();
});

let docker: FakeDocker | undefined;
afterEach(() => {
  docker = undefined;
});

/** `serving status --wait` with a docker that knows one container: its state, and its log. */
function wait(
  port: number,
  state: Record<string, unknown> | undefined,
  log = "",
  ...args: string[]
) {
  const container = inspected({
    name: `vllm-model-${port}`,
    state: { StartedAt: "2026-11-21T13:00:00Z", ...state },
  });
  docker = new FakeDocker({
    ps: { out: state === undefined ? "" : "4711\n" },
    "inspect 4711": { out: JSON.stringify([container]) },
    logs: { out: log },
    "image inspect": { code: 1 },
  });
  return runServing(["status", "--wait", "--file", stackFile(port), ...args], docker.env);
}

function stackFile(port: number, server: Record<string, unknown> = {}): string {
  const file = join(folder, `Pulumi.${port}-${Object.keys(server).length}.yaml`);
  const machines = {
    dgx: {
      totalGiB: 121.63,
      instanceA: "none",
      inferenceServers: { b: serverInput({ port, ...server }) },
    },
  };
  writeFileSync(file, stringify({ config: { "local-serving:machines": machines } }));
  return file;
}

const WITH_TOOLS = [
  "m",
  "--host",
  "127.0.0.1",
  "--port",
  "0",
  "--enable-auto-tool-choice",
  "--tool-call-parser",
  "hermes",
];

describe("serving status --wait", () => {
  it("is done when the server is healthy", async () => {
    const { code, out, err } = await wait(server.port, {}, "", "--format", "json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      servers: [{ container: `vllm-model-${server.port}`, outcome: "ready", lastLines: [] }],
      diagnoses: [],
    });
    expect(err).toContain("ready");
  });

  it.each([
    [["starting", "starting"], ["bridge", "chat-ui"], "bridge and chat-ui are still starting"],
    [["healthy", "starting"], ["chat-ui"], "chat-ui is still starting"],
    [["healthy", "healthy"], [], ""],
  ])("says which services still start: %j", async (health, starting, said) => {
    const StartedAt = "2026-11-21T13:00:00Z";
    const states = [
      inspected({ name: `vllm-model-${server.port}`, state: { StartedAt } }),
      ...["litellm-8787", "open-webui-8080"].map((name, index) =>
        inspected({ name, state: { StartedAt, Health: { Status: health[index] } } }),
      ),
    ];
    const listing = states.map((each, index) => ({ ...each, Id: `${index + 1}` }));
    const fake = new FakeDocker({
      ps: { out: "1\n2\n3\n" },
      [`inspect --type container vllm-model-${server.port}`]: {
        out: JSON.stringify(listing.slice(0, 1)),
      },
      inspect: { out: JSON.stringify(listing) },
      "image inspect": { code: 1 },
    });
    const file = join(folder, "Pulumi.services.yaml");
    const dgx = {
      ...{ totalGiB: 121.63, instanceA: "none", bridge: BRIDGE, chatUi: CHAT_UI },
      inferenceServers: { b: serverInput({ port: server.port }) },
    };
    writeFileSync(file, stringify({ config: { "local-serving:machines": { dgx } } }));
    const asked = ["status", "--wait", "--file", file];
    const { code, out } = await runServing(asked, fake.env);
    const [, last = ""] = out.split("\n");
    expect([code, last.split(":")[0]]).toEqual([0, said]);
    if (said !== "") expect(last).toContain(`: \`serving status --file ${file}\` shows when `);
    const json = await runServing([...asked, "--format", "json"], fake.env);
    expect(JSON.parse(json.out).starting).toEqual(starting);
    const named = await runServing([...asked, "b", "--format", "json"], fake.env);
    expect(JSON.parse(named.out).starting).toEqual([]);
  });

  it("with --warm asks for a call of a tool and a long prompt, and says what they took", async () => {
    const warmed = await startStandIn(WITH_TOOLS);
    onTestFinished(() => warmed.close());
    const { code, out } = await wait(warmed.port, {}, "", "--warm");
    expect(code).toBe(0);
    expect(out).toMatch(
      /^vllm-model-\d+ is ready \(\d+ s\)\.\n {2}chat-tools: \d+\.\d s\n {2}long-prompt: \d+\.\d s\n$/,
    );
    const json = await wait(warmed.port, {}, "", "--warm", "--format", "json");
    expect(JSON.parse(json.out).servers[0].warm).toMatchObject([
      { name: "chat-tools", status: "pass" },
      { name: "long-prompt", status: "pass" },
    ]);
    const { out: plain } = await wait(warmed.port, {}, "", "--format", "json");
    expect(JSON.parse(plain).servers[0]).not.toHaveProperty("warm");
  });

  it("with --warm fails where a ready server fails what clients ask, and says why", async () => {
    const broken = await startStandIn(WITH_TOOLS, { fault: "truncation-2048" });
    onTestFinished(() => broken.close());
    const { code, out } = await wait(broken.port, {}, "", "--warm");
    expect(code).toBe(1);
    expect(out).toContain(`vllm-model-${broken.port} is ready`);
    expect(out).toMatch(
      /\n {2}long-prompt: \d+\.\d s, failed: a prompt of .* it was cut.*\n {4}\S.*tokenizer/,
    );
  });

  it("with --warm takes a shorter prompt for a short window", async () => {
    const short = await startStandIn([...WITH_TOOLS, "--max-model-len", "16384"]);
    onTestFinished(() => short.close());
    const file = stackFile(short.port, { maxModelLen: 16384 });
    const { code, out } = await wait(short.port, {}, "", "--warm", "--file", file);
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/\n {2}chat-tools: .*\n {2}needle: \d+\.\d s\n$/),
    ]);
  });

  it("ends early with the log of a container that died, and with the doctor's diagnosis", async () => {
    const log =
      "Starting to load model m...\rLoading 10%\nValueError: No available memory for the cache blocks.\n";
    const { code, out } = await wait(1, { Status: "exited", ExitCode: 1 }, log);
    expect(code).toBe(1);
    expect(out).toContain("vllm-model-1: it ended with exit code 1");
    expect(out).toContain(
      "  Loading 10%\n  ValueError: No available memory for the cache blocks.\n",
    );
    expect(out).toMatch(/\d+ diagnos[ie]s/);
    expect(out).toContain("evidence   ");
    expect(out).toContain("gpuMemoryUtilization");
  });

  it("ends at once at a gate that stays closed, in Docker's start period too, with the command that goes on", async () => {
    const command = "docker exec vllm-model-1 rm /var/lib/local-serving/vllm-model-1.starts";
    const log = [
      "start gate: open after 0 s, 60.00 GiB are available",
      "ValueError: No available memory for the cache blocks.",
      `start gate: closed: 3 starts within an hour failed. Find out why; without one: ${command}`,
      "",
    ].join("\n");
    const state = { Status: "running", Health: { Status: "starting" } };
    const { code, out } = await wait(1, state, log, "--format", "json");
    expect(code).toBe(1);
    const { servers, diagnoses } = JSON.parse(out);
    expect(servers).toMatchObject([{ outcome: "died", phase: "gate closed" }]);
    expect(servers[0].reason).toContain(command);
    expect(diagnoses.map(({ id }: { id: string }) => id)).toEqual([
      "no-kv-room",
      "start-gate-closed",
    ]);
    expect(diagnoses[1]).toMatchObject({ command });
    expect(readFileSync(docker?.asked ?? "", "utf8")).toContain(
      " logs --follow --since 2026-11-21T12:59:59.000Z --tail 5000 vllm-model-1\n",
    );
  });

  it("ends when its time is over", async () => {
    const { code, out, err } = await wait(1, undefined, "", "--timeout", "1");
    expect(code).toBe(1);
    expect(out).toContain("vllm-model-1: not ready after 1 s (waiting for the image)");
    expect(out).toContain("Next: see how far `serving up` is, or start it.");
    expect(err).toContain("waiting for the image, not here yet");
    expect(err).toContain(
      "Docker shows a pull only to whoever started it: see the terminal of `serving up`",
    );
  });

  it("tells an image that is here without a container from one that is not", async () => {
    docker = new FakeDocker({
      ps: { out: "" },
      "image inspect": { out: `sha256:${"1".repeat(64)}\n` },
    });
    const args = ["status", "--wait", "--file", stackFile(1), "--timeout", "1"];
    const { code, out, err } = await runServing(args, docker.env);
    expect(code).toBe(1);
    expect(out).toContain("vllm-model-1: not ready after 1 s (waiting for the container)");
    expect(out).toContain("Next: see what `serving up` says");
    expect(err).toContain("its image is here; `serving up` creates the container");
    expect(err).not.toContain("pull");
  });

  it("shows how much has arrived, where the engine's folder may be read", async () => {
    const root = join(folder, "docker-root");
    mkdirSync(join(root, "tmp"), { recursive: true });
    writeFileSync(join(root, "tmp", "GetImageBlob1079874671"), Buffer.alloc(3 * 1024 ** 2));
    docker = new FakeDocker({
      ps: { out: "" },
      "image inspect": { code: 1 },
      info: { out: `${root}\n` },
    });
    const args = ["status", "--wait", "--file", stackFile(1), "--timeout", "1"];
    const { err } = await runServing(args, docker.env);
    // Others may be pulling through this machine's containerd meanwhile.
    expect(err).toMatch(/Docker is downloading, [\d.]+ [MG]iB of layers are not unpacked yet/);
  });

  it("ends at once where Docker can't start the container", async () => {
    const said =
      "driver failed programming external connectivity on endpoint vllm: port is already allocated";
    const state = { Status: "created", StartedAt: "0001-01-01T00:00:00Z", Error: said };
    const { code, out } = await wait(1, state);
    expect(code).toBe(1);
    expect(out).toContain(`vllm-model-1: Docker can't start it: ${said}`);
  });

  it("is over at once before the first `up`, but not while that one runs", async () => {
    const project = join(folder, "project");
    const locks = join(project, ".pulumi-state/.pulumi/locks/organization/local-serving/dgx");
    mkdirSync(locks, { recursive: true });
    writeFileSync(join(project, "Pulumi.yaml"), "name: local-serving\n");
    writeFileSync(join(project, "Pulumi.dgx.yaml"), readFileSync(stackFile(1)));
    vi.spyOn(process, "cwd").mockReturnValue(project);
    onTestFinished(() => void vi.restoreAllMocks());
    docker = new FakeDocker({ ps: { out: "" }, "image inspect": { code: 1 } });
    const env = { ...docker.env, PULUMI_HOME: project };
    const args = ["status", "--wait", "--timeout", "1"];
    expect(await runServing(args, env)).toEqual({
      code: 1,
      out: "",
      err: "Nothing is applied yet: run `serving up`.\n",
    });
    writeFileSync(join(locks, "1.json"), "{}");
    expect((await runServing(args, env)).out).toContain("not ready after 1 s");
    rmSync(join(locks, "1.json"));
    const stacks = join(project, ".pulumi-state/.pulumi/stacks/local-serving");
    mkdirSync(stacks, { recursive: true });
    writeFileSync(
      join(stacks, "dgx.json"),
      '{"checkpoint":{"latest":{"resources":[{"type":"docker:index/network:Network"}]}}}',
    );
    expect((await runServing(args, env)).out).toContain("not ready after 1 s");
  });

  it("says it when Docker does not answer", async () => {
    docker = new FakeDocker({ ps: { err: "Cannot connect to the Docker daemon\n", code: 1 } });
    const { code, out, err } = await runServing(
      ["status", "--wait", "--file", stackFile(1)],
      docker.env,
    );
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain("Cannot connect to the Docker daemon");
  });

  it("names the servers there are, when another is meant", async () => {
    const { code, err } = await runServing([
      "status",
      "--wait",
      "--file",
      stackFile(1),
      "--server",
      "c",
    ]);
    expect([code, err]).toEqual([
      2,
      expect.stringContaining("--server c: no such entry of inferenceServers; there are: b."),
    ]);
  });
});
