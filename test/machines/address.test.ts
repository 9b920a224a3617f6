import { hostname, networkInterfaces } from "node:os";
import {
  canonicalEngine,
  computerAt,
  isHere,
  isLoopback,
  isTunnel,
  originFromContainer,
  originOf,
} from "@local-serving/machines/address";
import { describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { endpointOf } from "../../components/planned/reach";
import { ELSEWHERE, stack } from "../fixtures/machine";
import { CHAT_UI } from "../fixtures/services";

it("a machine is this computer when its Docker engine listens on a socket file", () => {
  expect(isHere({ dockerHost: "unix:///run/user/1000/docker.sock" })).toBe(true);
  expect(isHere({ dockerHost: ELSEWHERE })).toBe(false);
});

it("loopback is reached from the machine alone", () => {
  expect(["127.0.0.1", "127.0.1.1", "::1", "[::1]", "localhost"].filter(isLoopback)).toHaveLength(
    5,
  );
  expect(
    ["127.1", "0x7f000001", "::ffff:127.0.0.1", "LocalHost.", "dgx.localhost"].filter(isLoopback),
  ).toHaveLength(5);
  const others = [
    "0.0.0.0",
    "::",
    "192.168.1.20",
    "128.0.0.1",
    "127.example.com",
    "localhost.example.com",
    "",
  ];
  expect(others.filter(isLoopback)).toEqual([]);
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
    const settings = stack(
      { chatUi: { ...CHAT_UI, listen }, simpleServer: { mode: "host", listen } },
      { listen },
    );
    const [machine] = plan(settings, { home: "/home/me" }).machines;
    expect(machine?.reach).toEqual([
      {
        key: "instance-a",
        name: "instance A (not ours)",
        address: "0.0.0.0",
        port: 8000,
        path: "/v1",
      },
      { key: "b", name: "vllm-model-8001", address: "0.0.0.0", port: 8001, path: "/v1" },
      {
        key: "simple-server",
        name: "simple server (Ollama)",
        address: "0.0.0.0",
        port: 11434,
        path: "",
      },
      { key: "chat-ui", name: "open-webui-8080", address: "0.0.0.0", port: 8080, path: "" },
    ]);
    expect(machine?.endpoints).toEqual(machine?.reach.map((each) => endpointOf(each)));
  });

  it.each([
    ["127.0.0.1", "dgx.local", undefined],
    ["172.17.0.1", "dgx.local", undefined],
    ["172.18.0.1", "dgx.local", "http://dgx.local:8787/v1"],
    ["0.0.0.0", "dgx.local", "http://dgx.local:8787/v1"],
    ["0.0.0.0", undefined, "port 8787 of every address (`clients.host` names one)"],
    ["0.0.0.0", "localhost", "port 8787 of every address (`clients.host` names one)"],
    ["192.168.1.20", undefined, "http://192.168.1.20:8787/v1"],
    ["192.168.1.20", "dgx.local", "http://dgx.local:8787/v1"],
  ])("%s is reached from other computers that know it as %s at %s", (address, host, network) => {
    expect(
      endpointOf({ key: "x", name: "x", address, port: 8787, path: "/v1" }, host).network,
    ).toBe(network);
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

/** Names of this computer, and numbers of its loopback. */
const HERE_BY_NAME = [
  ...[
    "127.0.0.1",
    "127.0.0.2",
    "127.1",
    "127.0.1",
    "0x7f000001",
    "0x7f.1",
    "0177.0.0.1",
    "2130706433",
    "017700000001",
  ],
  ...[
    "localhost",
    "LOCALHOST",
    "localhost.",
    "localhost.localdomain",
    "dgx.localhost",
    "localhost4",
    "localhost6.localdomain6",
    "ip6-localhost",
    "ip6-loopback",
  ],
  ...[
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::FFFF:7f00:1]",
    "[::ffff:127.8.9.10]",
    "0.0.0.0",
    "0",
    "[::]",
  ],
];

describe("the name of a Docker engine", () => {
  it.each([
    ["unix:///var/run/docker.sock", "unix:///run/docker.sock"],
    ["unix:///var/run/docker.sock", "unix:///var/run/docker.sock/"],
    ["unix:///var/run/docker.sock", "unix:////var//run/./docker.sock"],
    ["unix:///var/run/docker.sock", "unix:///var/lib/../run/docker.sock"],
    ["unix:///var/run/docker.sock", "unix://"],
    ["unix:///var/run/docker.sock", "ssh://me@localhost"],
    ["ssh://me@dgx", "ssh://dgx/"],
    ["ssh://me@dgx", "ssh://root@DGX.:022"],
    ["ssh://me@[::1]:4000", "ssh://127.0.0.1:4000/"],
    ...HERE_BY_NAME.map((host) => ["unix:///var/run/docker.sock", `ssh://me@${host}`]),
    ...HERE_BY_NAME.map((host) => ["unix:///run/docker.sock", `tcp://${host}:2375`]),
    ["ssh://me@10.0.0.5", "ssh://me@0x0a000005"],
  ])("is the same for %s and %s", (one, other) => {
    expect(canonicalEngine({ dockerHost: one })).toBe(canonicalEngine({ dockerHost: other }));
  });

  it.each([
    ["unix:///var/run/docker.sock", "unix:///run/user/1000/docker.sock"],
    ["ssh://me@dgx", "ssh://me@dgx2"],
    ["ssh://me@gate:2201", "ssh://me@gate:2202"],
    ["unix:///run/docker.sock", "ssh://me@127.example.com"],
    ["unix:///run/docker.sock", "ssh://me@localhost.example.com"],
    ["unix:///run/docker.sock", "ssh://me@128.0.0.1"],
    ["unix:///run/docker.sock", "ssh://me@[fe80::1]"],
    ["unix:///run/docker.sock", "tcp://dgx:2375"],
  ])("differs for %s and %s", (one, other) => {
    expect(canonicalEngine({ dockerHost: one })).not.toBe(canonicalEngine({ dockerHost: other }));
  });
});

/** Docker's networks come and go while tests run beside containers. */
const DOCKERS = /^(br-|docker|veth)/;

const OWN_ADDRESSES = Object.entries(networkInterfaces())
  .filter(([name]) => !DOCKERS.test(name))
  .flatMap(([, some = []]) =>
    some.map(({ address, family }) => (family === "IPv6" ? `[${address.split("%")[0]}]` : address)),
  );

describe("the computer of a Docker engine", () => {
  it.each([
    "unix:///var/run/docker.sock",
    "unix:///run/user/1000/docker.sock",
    "unix:///run/user/1000/podman/podman.sock",
    "UNIX:///home/me/.colima/docker.sock",
    "npipe:////./pipe/docker_engine",
    "fd://",
    " unix:///run/docker.sock ",
    ...HERE_BY_NAME.map((host) => `ssh://me@${host}`),
    ...HERE_BY_NAME.map((host) => `tcp://${host}:2375`),
    "tcp://:2375",
    "ssh://",
    "SSH://localhost:2222/path",
    "ssh://me%40corp@127.0.0.1",
    "ssh://host.docker.internal",
    `ssh://me@${hostname()}`,
    `ssh://me@${hostname().toUpperCase()}.`,
    `ssh://${hostname().split(".")[0]}.local`,
    ...OWN_ADDRESSES.map((address) => `tcp://${address}:2376`),
  ])("is this one: %s", (dockerHost) => expect(computerAt({ dockerHost })).toBe("this computer"));

  it.each([
    ["spark-1", "ssh://spark-1"],
    ["spark-1", "ssh://me@Spark-1.:22"],
    ["spark-1", "ssh://me%40corp@spark-1/"],
    ["spark-1", "SSH://root@SPARK-1:2222/run/docker.sock?a#b"],
    ["spark-1", "tcp://spark-1:2376"],
    ["spark-1", "https://spark-1:2376"],
    ["spark-1", "http://spark-1"],
    ["spark-1", "ssh://me@spark-1.local"],
    ["spark-1", "ssh://me@spark-1.local."],
    ["spark-1.lan", "ssh://me@spark-1.lan"],
    ["localhost.example.com", "ssh://localhost.example.com"],
    ["invalid.example.com", "ssh://invalid.example.com"],
    ["10.0.0.5", "ssh://0x0a000005"],
    ["10.0.0.5", "ssh://167772165"],
    ["10.0.0.5", "tcp://[::ffff:10.0.0.5]:2376"],
    ["[2001:db8::1]", "ssh://me@[2001:DB8:0::1]:22"],
    ["[fe80::1]", "ssh://me@[fe80::1%25eth0]"],
    ["xn--spark-kra", "ssh://me@spark\u00e4"],
    ["spark", "ssh://me@\uff53\uff50\uff41\uff52\uff4b"],
  ])("is %s: %s", (name, dockerHost) => expect(computerAt({ dockerHost })).toBe(name));

  it.each([
    "",
    "spark-1",
    "spark-1:2375",
    "context://spark",
    "ssh://spark-1:port",
    "ssh://%73park-1",
    "ssh://nobody@nowhere.invalid",
    "ssh://invalid",
  ])("is not known: %j", (dockerHost) => expect(computerAt({ dockerHost })).toBeUndefined());
});

it("another port of this computer is a tunnel of ssh, one of another computer is none", () => {
  const tunnel = (dockerHost: string) => isTunnel({ dockerHost });
  const tunnels = ["SSH://localhost:4000", "ssh://me@127.0.0.1:2201", "ssh://[::1]:2201"];
  expect(tunnels.filter(tunnel)).toEqual(tunnels);
  const others = ["ssh://gate:2201", "ssh://localhost:22", "tcp://localhost:2376", "unix:///x:1"];
  expect(others.filter(tunnel)).toEqual([]);
});
