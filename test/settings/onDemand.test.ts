import { describe, expect, it } from "vitest";
import { machinesFaults } from "../fixtures/faults";
import { serverInput } from "../fixtures/machine";
import { machine, ON_DEMAND, onRequest, RESIDENT, SHA256 } from "../fixtures/onDemand";
import { BRIDGE, CHAT_UI } from "../fixtures/services";

const faults = (more: Record<string, unknown>, others: Record<string, unknown> = {}) =>
  machinesFaults({ dgx: machine(more), ...others }, "machines.dgx.");

const servers = (more: Record<string, unknown>) => ({
  inferenceServers: { b: RESIDENT, c: onRequest("coder", 8002, more) },
});

describe("onDemand", () => {
  it("needs no key where no container asks, nor anything beside its program", () => {
    expect(faults({ onDemand: { program: { version: "v250" } } })).toEqual([]);
  });

  it.each([
    ["bridge", { bridge: BRIDGE }, "`bridge` is a container and asks"],
    ["chat UI", { chatUi: CHAT_UI }, "`chatUi` is a container and asks"],
    ["both", { bridge: BRIDGE, chatUi: CHAT_UI }, "`bridge`, `chatUi` are containers and ask"],
  ])("needs a key where a container asks: %s", (_, more, who) => {
    expect(faults({ ...more, onDemand: { program: ON_DEMAND.program } })).toEqual([
      `onDemand.keyVariable: ${who} a server that starts on request, so llama-swap listens on a Docker network, where it needs a key: write \`keyVariable: LOCAL_SERVING_ON_DEMAND_KEY\`, the NAME of a variable of your shell that holds one.`,
    ]);
    expect(faults(more)).toEqual([]);
  });

  it("is refused where nothing starts on request", () => {
    expect(faults({ inferenceServers: { b: RESIDENT } })).toEqual([
      "onDemand: No server starts on request, so llama-swap has nothing to start: write `start: onRequest` below a server, or delete `onDemand`.",
    ]);
    expect(faults({ inferenceServers: { b: RESIDENT }, onDemand: undefined })).toEqual([]);
  });

  it("is refused beside a server that others reach", () => {
    expect(faults(servers({ listen: "0.0.0.0" }))).toEqual([
      "inferenceServers.c.listen: c starts on request through llama-swap, which doesn't see requests at port 8002 and could stop the server during one: write `listen: 127.0.0.1`, or delete this line.",
    ]);
    expect(faults(servers({ listen: "127.0.0.1" }))).toEqual([]);
    expect(faults({ ...servers({ listen: "0.0.0.0" }), onDemand: undefined })).toEqual([]);
  });

  it("is reached by no bridge of another machine", () => {
    const other = {
      dgx2: {
        totalGiB: 121.63,
        instanceA: "none",
        dockerHost: "ssh://me@dgx2",
        inferenceServers: { b: serverInput({ servedModelName: "two" }) },
        bridge: { ...BRIDGE, servers: ["b", "dgx.c"] },
      },
    };
    expect(machinesFaults({ dgx: machine(), ...other })).toEqual([
      "machines.dgx2.bridge.servers.1: llama-swap on dgx starts `dgx.c`, and no other machine can reach it: put the server behind a `bridge` on dgx, and point clients at that bridge.",
    ]);
  });
});

describe("what llama-swap is", () => {
  const program = (more: object) => ({ onDemand: { program: { ...ON_DEMAND.program, ...more } } });

  it.each([
    [{ version: "250" }, "program.version: Expected a release of llama-swap, such as v250"],
    [{ sha256: "abc" }, "program.sha256: Expected 64 hexadecimal digits, as `sha256sum` prints"],
    [
      { from: "swap" },
      "program.from: Expected an absolute path, or an address such as https://example.org/llama-swap without",
    ],
    [
      { from: "https://example.org/swap/" },
      "program.from: Expected an absolute path, or an address such as https://example.org/llama-swap without",
    ],
  ])("refuses %o", (more, says) => {
    expect(faults(program(more))).toEqual([expect.stringContaining(`onDemand.${says}`)]);
  });

  it("is taken from a path, and from a server on loopback", () => {
    expect(faults(program({ from: "/usr/local/bin/llama-swap" }))).toEqual([]);
    expect(faults(program({ from: "http://127.0.0.1:8099/releases", sha256: SHA256 }))).toEqual([]);
  });

  it.each([
    ["clients.host", { clients: { host: "192.168.77.20" } }],
    ["dockerHost", { dockerHost: "ssh://me@192.168.77.20" }],
    ["link.address", { link: { interface: "enp1", address: "192.168.77.20" } }],
    ["bridge.listen", { bridge: { ...BRIDGE, listen: "192.168.77.20", keyVariable: "KEY" } }],
    ["instanceA.listen", { instanceA: { gpuMemoryUtilization: 0.3, listen: "192.168.77.20" } }],
  ])("has no network that holds an address of the machine: %s", (setting, more) => {
    const on = (subnet: string) => faults({ ...more, onDemand: { ...ON_DEMAND, subnet } });
    expect(on("192.168.77.0/24")).toEqual([
      `onDemand.subnet: 192.168.77.0/24 holds 192.168.77.20 (\`${setting}\`), so it is the network that the machine itself is in: write another private one, such as 10.213.7.0/28.`,
    ]);
    for (const subnet of ["10.213.7.0/28", "192.168.77.32/28"]) expect(on(subnet)).toEqual([]);
  });

  it.each([
    "172.31.241.0/16",
    "8.8.8.0/24",
    "172.31.241.7/28",
    "172.31.241.16/24",
    "10.300.0.0/24",
    "172.32.0.0/24",
  ])("has no network %s", (subnet) => {
    expect(faults({ onDemand: { ...ON_DEMAND, subnet } })).toEqual([
      expect.stringContaining(
        "onDemand.subnet: Expected a private network of 16 to 256 addresses by its first one, such as 172.31.241.0/28.",
      ),
    ]);
  });
});

describe("idleMinutes", () => {
  it("is a number or `never`", () => {
    expect(faults(servers({ idleMinutes: 5 }))).toEqual([]);
    expect(faults(servers({ idleMinutes: "never" }))).toEqual([]);
    expect(faults(servers({ idleMinutes: 0 }))).toEqual([
      expect.stringMatching(/^inferenceServers\.c\.idleMinutes: /),
    ]);
  });

  it("is refused where nobody counts them", () => {
    expect(faults(servers({ idleMinutes: 5, start: "always" })).sort()).toEqual([
      "inferenceServers.c.idleMinutes: c always runs, so it is never stopped for being idle: delete this line, or write `start: onRequest`.",
      "onDemand: No server starts on request, so llama-swap has nothing to start: write `start: onRequest` below a server, or delete `onDemand`.",
    ]);
    expect(faults({ ...servers({ idleMinutes: 5 }), onDemand: undefined })).toEqual([
      "inferenceServers.c.idleMinutes: Only llama-swap counts minutes without a request: declare `onDemand` on the machine (guide: models on demand), or delete this line.",
    ]);
  });
});
