import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { HERE } from "@local-serving/machines/address";
import { UP } from "@local-serving/machines/docker/engine";
import { filesOf } from "@local-serving/machines/files";
import { describe, expect, it } from "vitest";
import { judgeLink, judgeRanks } from "../../components/features/ranks/judgeLink";
import { type LinkFacts, rankPorts, readLink } from "../../components/features/ranks/readLink";
import { plan } from "../../components/plan/plan";
import type { MachinePlan } from "../../components/plan/types";
import type { Link } from "../../components/planned/rank";
import { judgeMachine } from "../../components/preflight/judgeMachine";
import { oursOn } from "../../components/preflight/ourContainers";
import type { MachineFacts } from "../../components/preflight/types";
import { stack } from "../fixtures/machine";
import { temporaryFolder } from "../layers/temporaryFolder";

const LINK: Link = {
  interface: "enp1s0f1np1",
  address: "192.168.100.11",
  hcas: ["rocep1s0f1", "roceP2p1s0f1"],
  gidIndex: 3,
};

const NODES = [
  { machine: "dgx1", address: "192.168.100.11", container: "vllm-model-8001" },
  { machine: "dgx2", address: "192.168.100.12", container: "vllm-model-8001-rank1" },
];

/** A machine of two; the first has the head. */
function machineOf(index: 0 | 1, link: Partial<Link> = {}): MachinePlan {
  const [planned] = plan(stack({}), { home: "/home/me" }).machines;
  const [server] = planned?.inferenceServers ?? [];
  const node = NODES[index];
  if (planned === undefined || server === undefined || node === undefined)
    throw new Error("nothing planned");
  const rank = {
    index,
    nodes: NODES,
    link: { ...LINK, address: node.address, ...link },
    masterPort: 29501,
    mark: "m",
  };
  const container = { ...server.container, name: node.container, network: "host", ports: [] };
  const ranked = { ...server, container, rank };
  const at = { ...planned, name: node.machine, containers: [container] };
  return index === 0
    ? { ...at, inferenceServers: [ranked], ranks: [] }
    : { ...at, inferenceServers: [], ranks: [{ ...ranked, key: "dgx1-b" }] };
}

const GIDS = [{ index: 3, address: "192.168.100.11" }];

const READY: LinkFacts = {
  addresses: [
    { name: "lo", address: "127.0.0.1", prefix: 8 },
    { name: "wlP9s9", address: "192.168.1.50", prefix: 24 },
    { name: "enp1s0f1np1", address: "192.168.100.11", prefix: 24 },
  ],
  interface: { state: "up", mtu: 9000, wireless: false, defaultRoute: false },
  hcas: [
    { name: "rocep1s0f1", state: "ACTIVE", gids: GIDS },
    { name: "roceP2p1s0f1", state: "ACTIVE", gids: [{ index: 3, address: "192.168.101.11" }] },
  ],
  brokenCma: false,
  revisions: {},
};

const judged = (overlay: Partial<LinkFacts> = {}, link: Partial<Link> = {}) =>
  judgeLink(machineOf(0, link), { ...READY, ...overlay });

describe("the link of a machine with a rank", () => {
  it("passes as it is declared, with and without RDMA", () => {
    expect(judged()).toEqual([]);
    expect(judged({ hcas: [] }, { hcas: [], gidIndex: undefined })).toEqual([]);
  });

  it("is not looked at on a machine without a rank", async () => {
    const machine = { ...machineOf(0), inferenceServers: [] };
    expect(judgeLink(machine, undefined)).toEqual([]);
    expect(await readLink(machine, filesOf({ dockerHost: HERE }))).toBeUndefined();
  });

  const nothing = { ...READY, interface: undefined };
  it.each<[string, Partial<LinkFacts>, Partial<Link>, unknown]>([
    [
      "an interface that isn't there, with the one that has the address",
      {},
      { interface: "enp1s0f0np0" },
      {
        message:
          "There is no network interface enp1s0f0np0. Interfaces with an IPv4 address: lo (127.0.0.1), wlP9s9 (192.168.1.50), enp1s0f1np1 (192.168.100.11).",
        setting: "link.interface",
        value: "enp1s0f1np1",
      },
    ],
    [
      "an interface without a cable",
      { interface: { state: "down", mtu: 1500, wireless: false, defaultRoute: false } },
      {},
      {
        message:
          "The link is down: enp1s0f1np1 is down. Check its cable, and its network settings on all machines.",
      },
    ],
    [
      "an interface that the machine reaches everything else by",
      { interface: { state: "up", mtu: 1500, wireless: false, defaultRoute: true } },
      {},
      {
        message:
          "enp1s0f1np1 has the machine's default route, so other computers can use it, and vLLM's ranks accept commands from anyone who can reach them: declare the interface of a cable between the machines.",
        setting: "link.interface",
      },
    ],
    [
      "Wi-Fi",
      { interface: { state: "up", mtu: 1500, wireless: true, defaultRoute: false } },
      {},
      {
        message:
          "enp1s0f1np1 is wireless, so other computers can use it, and vLLM's ranks accept commands from anyone who can reach them: declare the interface of a cable between the machines.",
        setting: "link.interface",
      },
    ],
    [
      "another address than the interface has, with the right one",
      {},
      { address: "192.168.100.21" },
      {
        message: "enp1s0f1np1 doesn't have the address 192.168.100.21; it has 192.168.100.11.",
        setting: "link.address",
        value: "192.168.100.11",
      },
    ],
    [
      "an address that another interface has, with that one",
      {},
      { address: "192.168.1.50" },
      {
        message: "enp1s0f1np1 doesn't have the address 192.168.1.50; it has 192.168.100.11.",
        setting: "link.interface",
        value: "wlP9s9",
      },
    ],
    [
      "an RDMA device that isn't there",
      {},
      { hcas: ["rocep1s0f0"] },
      {
        message:
          "RDMA devices that are missing or have no link: rocep1s0f0. This machine has rocep1s0f1 (ACTIVE), roceP2p1s0f1 (ACTIVE).",
        setting: "link.hcas",
      },
    ],
    [
      "an RDMA device whose port is down",
      { hcas: [{ name: "rocep1s0f1", state: "DOWN", gids: GIDS }] },
      { hcas: ["rocep1s0f1"] },
      {
        message:
          "RDMA devices that are missing or have no link: rocep1s0f1. This machine has rocep1s0f1 (DOWN).",
        setting: "link.hcas",
      },
    ],
    [
      "a GID index that is another address's, with the right one",
      {},
      { gidIndex: 2 },
      {
        message:
          "GID 2 is not the RoCE v2 entry of 192.168.100.11 on all devices. Such entries are: rocep1s0f1 3 192.168.100.11; roceP2p1s0f1 3 192.168.101.11.",
        setting: "link.gidIndex",
        value: 3,
      },
    ],
    [
      "a GID index for which no device has an entry, where no index fits",
      {
        hcas: [
          { name: "rocep1s0f1", state: "ACTIVE", gids: [{ index: 5, address: "192.168.1.50" }] },
        ],
      },
      { hcas: ["rocep1s0f1"] },
      {
        message:
          "GID 3 is not the RoCE v2 entry of 192.168.100.11 on all devices. Such entries are: rocep1s0f1 5 192.168.1.50.",
        setting: "link.gidIndex",
      },
    ],
  ])("refuses %s", (name, overlay, link, finding) => {
    const facts = name.startsWith("an interface that isn't") ? nothing : { ...READY, ...overlay };
    expect(judgeLink(machineOf(0, link), facts)).toEqual([
      { verdict: "refused", ...(finding as object) },
    ]);
  });

  it("refuses a peer outside of the interface's network", () => {
    const addresses = [{ name: "enp1s0f1np1", address: "192.168.100.11", prefix: 32 }];
    expect(judged({ addresses })).toEqual([
      {
        verdict: "refused",
        message:
          "dgx2 has 192.168.100.12 on the link, which isn't in the network of enp1s0f1np1, 192.168.100.11/32: give both an address in the same network.",
        setting: "link.address",
      },
    ]);
  });

  it("warns of memory that RDMA can't pin", () => {
    const found = judged({ brokenCma: true });
    expect(found.map(({ verdict, message }) => [verdict, message.split(":")[0]])).toEqual([
      ["warned", "CmaFree is above CmaTotal"],
    ]);
  });
});

describe("the machines of one server", () => {
  const ends = (mine: Partial<LinkFacts>, other: Partial<LinkFacts>) => [
    { machine: machineOf(0), read: { ...READY, ...mine } },
    { machine: machineOf(1), read: { ...READY, ...other } },
  ];
  const mtu = (value: number) => ({
    interface: { state: "up", mtu: value, wireless: false, defaultRoute: false },
  });

  it("may have the same MTU and the same commit of the model, or none yet", () => {
    expect(judgeRanks(ends({}, {}))).toEqual([]);
    expect(judgeRanks(ends({ revisions: { "vllm-model-8001": "a" } }, {}))).toEqual([]);
    expect(
      judgeRanks(
        ends(
          { revisions: { "vllm-model-8001": "a" } },
          { revisions: { "vllm-model-8001-rank1": "a" } },
        ),
      ),
    ).toEqual([]);
  });

  it("may not differ in their MTU", () => {
    expect(judgeRanks(ends(mtu(9000), mtu(1500)))).toEqual([
      {
        machine: "dgx1",
        verdict: "refused",
        message:
          "The MTU of the link is not the same on all machines: 9000 on dgx1, 1500 on dgx2. Set the same on all, as in `sudo ip link set enp1s0f1np1 mtu 9000` and in netplan.",
      },
    ]);
  });

  it("may not hold different commits of the model", () => {
    const [mine, other] = ["a".repeat(40), "b".repeat(40)];
    expect(
      judgeRanks(
        ends(
          { revisions: { "vllm-model-8001": mine } },
          { revisions: { "vllm-model-8001-rank1": other } },
        ),
      ),
    ).toEqual([
      {
        machine: "dgx1",
        verdict: "refused",
        message: `The machines' caches hold different commits of the model: ${mine} on dgx1, ${other} on dgx2. Pin one, and download it with \`serving fetch\`.`,
        setting: "inferenceServers.b.model.revision",
        value: mine,
      },
    ]);
  });
});

describe("reading a link", () => {
  const write = (root: string, files: Readonly<Record<string, string>>) => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), `${text}\n`);
    }
  };

  it("takes interface, devices, GIDs and commits from where Linux has them", async () => {
    const sys = temporaryFolder("sys-");
    const proc = temporaryFolder("proc-");
    const cache = temporaryFolder("cache-");
    write(sys, {
      "net/enp1s0f1np1/operstate": "up",
      "net/enp1s0f1np1/mtu": "9000",
      "net/wlP9s9/wireless/x": "",
      "infiniband/rocep1s0f1/ports/1/state": "4: ACTIVE",
      "infiniband/rocep1s0f1/ports/1/gids/1": "fe80:0000:0000:0000:4ebb:47ff:fe00:0001",
      "infiniband/rocep1s0f1/ports/1/gid_attrs/types/1": "RoCE v2",
      "infiniband/rocep1s0f1/ports/1/gids/2": "0000:0000:0000:0000:0000:ffff:c0a8:640b",
      "infiniband/rocep1s0f1/ports/1/gid_attrs/types/2": "IB/RoCE v1",
      "infiniband/rocep1s0f1/ports/1/gids/3": "0000:0000:0000:0000:0000:ffff:c0a8:640b",
      "infiniband/rocep1s0f1/ports/1/gid_attrs/types/3": "RoCE v2",
      "infiniband/rocep1s0f0/ports/1/state": "1: DOWN",
    });
    write(proc, {
      "net/route":
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\nwlP9s9\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\nenp1s0f1np1\t0064A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0",
      meminfo: "MemTotal: 127600000 kB\nCmaTotal:        32768 kB\nCmaFree:       9751000 kB",
    });
    write(cache, { "hub/models--nvidia--Model/refs/main": "a".repeat(40) });
    const machine = machineOf(0);
    const [server] = machine.inferenceServers;
    const read = { ...server, modelCache: cache, hubModels: [{ id: "nvidia/Model" }] };
    const files = filesOf({ dockerHost: HERE });
    const facts = await readLink(
      { ...machine, inferenceServers: [read as NonNullable<typeof server>] },
      { ...files, addresses: async () => READY.addresses },
      { sys, proc },
    );
    expect(facts).toEqual({
      addresses: READY.addresses,
      interface: { state: "up", mtu: 9000, wireless: false, defaultRoute: false },
      hcas: [
        { name: "rocep1s0f0", state: "DOWN", gids: [] },
        { name: "rocep1s0f1", state: "ACTIVE", gids: [{ index: 3, address: "192.168.100.11" }] },
      ],
      brokenCma: true,
      revisions: { "vllm-model-8001": "a".repeat(40) },
    });
    const wifi = await readLink(machineOf(0, { interface: "wlP9s9" }), files, { sys, proc });
    // It has no state, so it is none; its directory alone tells of the radio.
    expect(wifi?.interface).toBeUndefined();
    write(sys, { "net/wlP9s9/operstate": "up", "net/wlP9s9/mtu": "1500" });
    const shared = await readLink(machineOf(0, { interface: "wlP9s9" }), files, { sys, proc });
    expect(shared?.interface).toEqual({
      state: "up",
      mtu: 1500,
      wireless: true,
      defaultRoute: true,
    });
  });

  it("reads the addresses of this very computer with their networks", async () => {
    const addresses = await filesOf({ dockerHost: HERE }).addresses();
    expect(addresses).toContainEqual({ name: "lo", address: "127.0.0.1", prefix: 8 });
  });
});

describe("ports and containers of ranks", () => {
  const facts: MachineFacts = {
    docker: { reachable: true, gpuRuntime: true, containers: [] },
    memory: { totalGiB: 121.63, availableGiB: 120 },
    listeners: [],
    directories: [],
    fileFolders: [],
    faultyVariables: [],
    kernel: { kernel: "6.17.0-1021-nvidia", kernelArguments: [], driver: "580.95.05" },
    ofFeatures: [READY],
  };
  const judgedPorts = (
    machine: MachinePlan,
    ports: readonly number[],
    names: readonly string[] = [],
  ) =>
    judgeMachine(
      { ...machine, hostInstance: "none" },
      {
        ...facts,
        docker: {
          reachable: true,
          gpuRuntime: true,
          containers: names.map((name) => ({ name, ports: [] })),
        },
        listeners: ports.map((port) => ({ port })),
        ofFeatures: [
          { ...READY, addresses: READY.addresses.map((each) => ({ ...each, prefix: 24 })) },
        ],
      },
    ).filter(({ message }) => message.startsWith("Port"));

  it("names what a head and a worker listen on", () => {
    expect(rankPorts(machineOf(0)).map(({ port, setting }) => [port, setting])).toEqual([
      [29502, "inferenceServers.b.masterPort"],
      [29501, "inferenceServers.b.masterPort"],
      [8001, "inferenceServers.b.port"],
    ]);
    expect(rankPorts(machineOf(1)).map(({ port, setting }) => [port, setting])).toEqual([
      [29502, undefined],
    ]);
  });

  it("refuses a port that something else has, and not while the rank itself runs", () => {
    expect(judgedPorts(machineOf(0), [8001])).toEqual([
      {
        verdict: "refused",
        message:
          "Port 8001 of vllm-model-8001 is in use by something that isn't ours. Check with `ss -lntp 'sport = :8001'`, then stop it or choose another `port`.",
        setting: "inferenceServers.b.port",
      },
    ]);
    expect(judgedPorts(machineOf(1), [29502]).map(({ message }) => message.slice(-32))).toEqual([
      " or choose another `masterPort`.",
    ]);
    expect(judgedPorts(machineOf(0), [8001, 29501, 29502], ["vllm-model-8001"])).toEqual([]);
  });

  it("finds ranks that are up, which have the machine's own network", () => {
    const machine = machineOf(0);
    expect([...oursOn(machine), ...UP]).toEqual([
      "label=local-serving.machine=dgx1",
      `network=${machine.network}`,
      "network=host",
      "status=running",
      "status=restarting",
      "status=paused",
    ]);
  });

  it("counts the memory that a worker wants", () => {
    const short = { ...facts, memory: { totalGiB: 121.63, availableGiB: 50 } };
    const [finding] = judgeMachine({ ...machineOf(1), hostInstance: "none" }, short).filter(
      ({ message }) => message.startsWith("Not enough memory"),
    );
    expect(finding?.message).toMatch(
      /^Not enough memory for vllm-model-8001-rank1: 54\.73 GiB is needed/,
    );
  });
});
