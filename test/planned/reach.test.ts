import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { plan } from "../../components/plan/plan";
import {
  endpointOf,
  engineOf,
  isHere,
  isLoopback,
  originFromContainer,
  originOf,
} from "../../components/planned/reach";
import { preflight } from "../../components/preflight/preflight";
import { nowhere } from "../../components/settings/places";
import { fromMachine } from "../../operate/doctor/read/fromMachine";
import { inventory } from "../../operate/inventory/inventory";
import { hostOf } from "../../operate/verify/host";
import { targetsOf } from "../../operate/verify/run/targets";
import { dockerReader } from "../../operate/wait/container";
import { ELSEWHERE, stack, UNREACHED } from "../fixtures/machine";
import { CHAT_UI } from "../fixtures/services";
import { temporaryFolder } from "../layers/temporaryFolder";
import { FakeDocker } from "../operate/fakeDocker";

it("a machine is this computer when its Docker engine listens on a socket file", () => {
  expect(isHere({ dockerHost: "unix:///run/user/1000/docker.sock" })).toBe(true);
  for (const dockerHost of ELSEWHERE) expect(isHere({ dockerHost })).toBe(false);
});

it("loopback is reached from the machine alone", () => {
  expect(["127.0.0.1", "127.0.1.1", "::1", "[::1]", "localhost"].filter(isLoopback)).toHaveLength(5);
  expect(["0.0.0.0", "192.168.1.20", "128.0.0.1"].filter(isLoopback)).toEqual([]);
});

describe("what listens on", () => {
  it.each([
    ["127.0.0.1", "http://127.0.0.1:1", "http://host.docker.internal:1"],
    ["0.0.0.0", "http://127.0.0.1:1", "http://host.docker.internal:1"],
    ["192.168.1.20", "http://192.168.1.20:1", "http://192.168.1.20:1"],
  ])("%s is asked by a program at %s, by a container at %s", (address, here, inside) => {
    expect(originOf({ address, port: 1 })).toBe(here);
    expect(originFromContainer({ address, port: 1 })).toBe(inside);
  });

  it("has one entry in `reach` and one in `endpoints`", () => {
    const listen = "0.0.0.0";
    const settings = stack({ chatUi: { ...CHAT_UI, listen }, simpleServer: { mode: "host", listen } }, { listen });
    const [machine] = plan(settings, { home: "/home/me" }).machines;
    expect(machine?.reach).toEqual([
      { key: "instance-a", name: "instance A (not ours)", address: "0.0.0.0", port: 8000, path: "/v1" },
      { key: "b", name: "vllm-model-8001", address: "0.0.0.0", port: 8001, path: "/v1" },
      { key: "simple-server", name: "simple server (Ollama)", address: "0.0.0.0", port: 11434, path: "" },
      { key: "chat-ui", name: "open-webui-8080", address: "0.0.0.0", port: 8080, path: "" },
    ]);
    expect(machine?.endpoints).toEqual(machine?.reach.map((each) => endpointOf(each)));
  });

  it.each([
    ["127.0.0.1", "dgx.local", undefined],
    ["0.0.0.0", "dgx.local", "http://dgx.local:8787/v1"],
    ["0.0.0.0", undefined, "port 8787 of every address (`clients.host` names one)"],
    ["0.0.0.0", "localhost", "port 8787 of every address (`clients.host` names one)"],
    ["192.168.1.20", undefined, "http://192.168.1.20:8787/v1"],
    ["192.168.1.20", "dgx.local", "http://dgx.local:8787/v1"],
  ])("%s is reached from other computers that know it as %s at %s", (address, host, network) => {
    expect(endpointOf({ key: "x", name: "x", address, port: 8787, path: "/v1" }, host).network).toBe(network);
  });

  it("one address of the network is asked there, instance A too", () => {
    const listen = "192.168.1.20";
    const instanceA = { gpuMemoryUtilization: 0.3, servedModelName: "a", listen };
    const settings = stack({ instanceA, chatUi: { ...CHAT_UI, connections: ["instance-a"] } });
    const [machine] = plan(settings, { home: "/home/me" }).machines;
    expect(machine?.endpoints[0]?.url).toBe("http://192.168.1.20:8000/v1");
    expect(machine?.chatUi?.container.env.OPENAI_API_BASE_URLS).toBe("http://192.168.1.20:8000/v1");
  });
});

it.each(UNREACHED)("a plan warns of a machine at %s and changes nothing else", (dockerHost) => {
  const here = plan(stack(), { home: "/home/me" });
  const there = plan(stack({ dockerHost }), { home: "/home/me" });
  const [warning, ...others] = there.warnings;
  expect(warning?.code).toBe("elsewhere");
  expect(others).toEqual(here.warnings);
  expect(there.machines[0]?.containers).toEqual(here.machines[0]?.containers);
});

describe.each(UNREACHED)("of a machine at %s nothing is read here:", (dockerHost) => {
  const home = temporaryFolder("elsewhere-");
  const settings = stack({ dockerHost, venvs: ["~/venv"], instanceA: { gpuMemoryUtilization: 0.3 } });
  const planned = plan(settings, { home });
  const [machine] = planned.machines;
  const [declared] = Object.values(settings.machines);
  if (machine === undefined || declared === undefined) throw new Error("no machine planned");
  const docker = new FakeDocker({ ps: {}, info: { out: `${home}\n` } });
  beforeEach(() => void vi.stubEnv("PATH", docker.env.PATH ?? ""));
  afterEach(() => void vi.unstubAllEnvs());

  it("the preflight has one refusal, whatever lies or listens here", async () => {
    mkdirSync(dirname(machine.files[0]?.path ?? ""), { recursive: true });
    writeFileSync(machine.files[0]?.path ?? "", "theirs\n");
    const found = await preflight(planned, false, nowhere);
    expect(found.map(({ name, verdict }) => `${name}: ${verdict}`)).toEqual(["preflight of dgx: refused"]);
    expect(await preflight(planned, true, nowhere)).toEqual([]);
  });

  it("doctor says so, and asks the machine's own Docker", async () => {
    const { facts, notes } = await fromMachine(machine, join(home, "Pulumi.dgx.yaml"));
    expect(notes).toEqual(["dgx is another computer: its memory, kernel log, sockets and files were not read."]);
    expect(Object.keys(facts).sort()).toEqual(["allContainers", "containers", "logs"]);
    expect(readFileSync(docker.asked, "utf8")).toContain(`${dockerHost} ps`);
  });

  it("inventory says so", async () => {
    const found = await inventory(machine, declared, { home });
    expect(found.venvs).toEqual([]);
    expect(found.problems).toEqual(["dgx is another computer: its venvs were not read."]);
  });

  it("wait sees no download in a folder of this computer", async () => {
    mkdirSync(join(home, "tmp"), { recursive: true });
    writeFileSync(join(home, "tmp/GetImageBlob1"), "x".repeat(100));
    expect(await dockerReader(dockerHost).downloadedBytes()).toBe(0);
  });

  it("verify asks nothing on loopback and reads nothing", async () => {
    const targets = await targetsOf(machine, hostOf(dockerHost), { timeoutSeconds: 1 });
    expect(targets.map(({ unreachable }) => unreachable).filter((reason) => reason === undefined)).toEqual([]);
  });
});

describe("the name of a Docker engine", () => {
  it.each([
    ["unix:///var/run/docker.sock", "unix:///run/docker.sock"],
    ["unix:///var/run/docker.sock", "unix:///var/run/docker.sock/"],
    ["unix:///var/run/docker.sock", "unix:////var//run/./docker.sock"],
    ["unix:///var/run/docker.sock", "unix:///var/lib/../run/docker.sock"],
    ["unix:///var/run/docker.sock", "unix://"],
    ["unix:///var/run/docker.sock", "ssh://me@localhost"],
    ["ssh://me@dgx", "ssh://dgx/"],
    ["ssh://me@dgx", "ssh://root@DGX:22"],
    ["ssh://me@dgx", "tcp://dgx.:2375"],
    ["tcp://dgx:2375", "tcp://dgx:02376/"],
    ["tcp://127.0.0.1:2375", "tcp://localhost"],
    ["tcp://[::1]:4000", "tcp://127.0.0.1:4000"],
  ])("is the same for %s and %s", (one, other) => {
    expect(engineOf({ dockerHost: one })).toBe(engineOf({ dockerHost: other }));
  });

  it.each([
    ["unix:///var/run/docker.sock", "unix:///run/user/1000/docker.sock"],
    ["unix:///var/run/docker.sock", "tcp://127.0.0.1:2375"],
    ["ssh://me@dgx", "ssh://me@dgx2"],
    ["ssh://me@gate:2201", "ssh://me@gate:2202"],
    ["tcp://127.0.0.1:2375", "tcp://127.0.0.1:2376"],
  ])("differs for %s and %s", (one, other) => {
    expect(engineOf({ dockerHost: one })).not.toBe(engineOf({ dockerHost: other }));
  });
});
