import { readFileSync } from "node:fs";
import { engineProblem, readDocker, UP } from "@local-serving/machines/docker/engine";
import { afterEach, describe, expect, it, vi } from "vitest";
import { plan } from "../../components/plan/plan";
import { oursOn } from "../../components/preflight/ourContainers";
import { type Answers, FakeDocker, inspected } from "../cli/fakeDocker";
import { stack } from "../fixtures/machine";

afterEach(() => void vi.unstubAllEnvs());

const [machine] = plan(stack(), { home: "/home/me" }).machines;
if (machine === undefined) throw new Error("no machine planned");

/** What is read of an engine that answers like this. */
const read = async (answers: Answers) => {
  const docker = new FakeDocker({
    info: { out: '{"ID":"7TRN","Runtimes":{"nvidia":{}}}' },
    "network inspect": { out: "lo\n" },
    ps: {},
    ...answers,
  });
  vi.stubEnv("PATH", docker.env.PATH ?? "");
  return {
    facts: await readDocker(machine.dockerHost, [...oursOn(machine), ...UP]),
    asked: () => readFileSync(docker.asked, "utf8"),
  };
};

describe("what the preflight reads of Docker", () => {
  it("are the GPU runtime and the containers that are up of this machine in our network", async () => {
    const running = { ...inspected({ name: "vllm-old" }), Config: { Cmd: ["vllm", "serve", "m"] } };
    const { facts, asked } = await read({
      ps: { out: "abc\n" },
      inspect: { out: JSON.stringify([running]) },
    });
    expect(facts).toMatchObject({
      reachable: true,
      id: "7TRN",
      gpuRuntime: true,
      containers: [{ name: "vllm-old", gpuMemoryUtilization: 0.92, ports: [{ host: 8001 }] }],
    });
    expect(facts).not.toHaveProperty("missingBridge");
    expect(asked()).toContain(
      "unix:///var/run/docker.sock ps --all --quiet --no-trunc --filter label=local-serving.machine=dgx --filter network=local-serving --filter status=running --filter status=restarting --filter status=paused",
    );
  });

  it("are GPUs of a CDI specification, too", async () => {
    const out = '{"DiscoveredDevices":[{"Source":"cdi","ID":"nvidia.com/gpu=all"}]}';
    expect((await read({ info: { out } })).facts).toMatchObject({
      ...{ reachable: true, gpuRuntime: true, listsNvidia: true },
    });
    expect((await read({})).facts).not.toHaveProperty("listsNvidia");
  });

  it("is a bridge that this computer lacks, unless the daemon has its interfaces elsewhere", async () => {
    const bridge = { "network inspect": { out: "gone0\n" } };
    expect((await read(bridge)).facts).toMatchObject({ missingBridge: "gone0" });
    for (const out of [
      '{"SecurityOptions":["name=rootless"]}',
      '{"OperatingSystem":"Docker Desktop"}',
    ])
      expect((await read({ ...bridge, info: { out } })).facts).not.toHaveProperty("missingBridge");
  });

  it("is why it does not answer", async () => {
    const err = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock.";
    expect((await read({ info: { err, code: 1 } })).facts).toEqual({
      reachable: false,
      reason: `docker info failed: ${err}`,
    });
    expect((await read({ info: { out: "{" } })).facts).toMatchObject({ reachable: false });
  });

  it("is for a preview whether it answers, and no more", async () => {
    await read({ version: { out: "29.0.0\n" } });
    expect(await engineProblem(machine)).toBeUndefined();
    await read({ version: { err: "Cannot connect", code: 1 } });
    expect(await engineProblem(machine)).toBe("docker version failed: Cannot connect");
  });
});
