import { describe, expect, it } from "vitest";
import { plan } from "../../../components/plan/plan";
import { TYPE } from "../../../components/planned/type";
import { declaredResources } from "../../../components/program/machine/declaredResources";
import { stackSettings } from "../../../components/settings/stackSettings";
import { judge } from "../../../policies/judge";
import type { DeclaredResource } from "../../../policies/lib/container";
import { onComputers } from "../../../policies/lib/oneComputer";
import { serverInput, stackInput } from "../../fixtures/machine";
import { declared, hostInstance, said, server, UNKNOWN_NUMBER } from "../declared";

const RULE = "aggregate-utilization";
const ROOTLESS = "unix:///run/user/1000/docker.sock";
type Given = Record<string, unknown>;

/** What refuses a stack of `dgx` and a second machine, as `RULE RESOURCE: MESSAGE`. */
function refusals(second: Given, dgx: Given = {}, bootIds?: ReadonlyMap<string, string>) {
  const { machines } = stackInput(dgx);
  const folder = { stateDirectory: "~/second", modelCache: "~/second/hub" };
  const other = { totalGiB: 121.63, instanceA: "none", ...folder, ...second };
  const settings = stackSettings.parse({ machines: { ...machines, second: other } });
  return judge(declaredResources(plan(settings, { home: "/home/me" }), bootIds))
    .filter(({ verdict }) => verdict === "refused")
    .map(({ name, resource, message }) => `${name} ${resource}: ${message}`);
}

const serverC = (gpuMemoryUtilization: number, port = 8101) => ({
  inferenceServers: { c: serverInput({ gpuMemoryUtilization, port }) },
});
const TOO_MUCH = [
  "aggregate-utilization dgx-b: The servers of dgx and second (one computer) claim 1.20 of its memory, and 0.90 is the limit. Set --gpu-memory-utilization of vllm-model-8001 to 0.15 or less. The plan still warns of the sum of the shares. No share is left for vllm-model-8101 beside the others. Instance A is not ours to lower: only its owner can, to 0.15 or less. Claimed: instance A (host, port 8000) 0.45 + vllm-model-8001 0.45 + vllm-model-8101 0.30, 146.0 of 121.63 GiB. In the stack file: `machines.dgx.inferenceServers.b.gpuMemoryUtilization: 0.15`.",
  "memory-sum second: The memory of second doesn't fit: 152.77 of 121.63 GiB, 31.14 too much. What else can be reduced, the largest first: instance A, vllm-model-8001, vllm-model-8101. Declared or measured: instance A 54.73 + vllm-model-8001 54.73 + vllm-model-8101 36.49. Defaults: instance A: overshoot 0.94 + vllm-model-8001: overshoot 0.94 + operating system 4.00 + vllm-model-8101: overshoot 0.94. dgx and second are one computer with one memory.",
];

describe("two machines of a stack file", () => {
  it.each([
    ROOTLESS,
    "unix:///run/user/1000/podman/podman.sock",
    "unix:///var/run/second/docker.sock",
    "ssh://me@host.docker.internal",
  ])("on engines of one computer are summed together: %s", (dockerHost) =>
    expect(refusals({ dockerHost, ...serverC(0.3) })).toEqual(TOO_MUCH),
  );

  it.each(["ssh://me@dgx2", "ssh://me@localhost:2222", "ssh://me@10.0.0.5"])(
    "on what may be another computer are not: %s",
    (dockerHost) => expect(refusals({ dockerHost, ...serverC(0.3) })).toEqual([]),
  );

  it("are summed together by the boot ids of their kernels", () => {
    const there = { dockerHost: "ssh://me@dgx2", ...serverC(0.3) };
    const booted = (dgx: string, second: string) =>
      new Map([
        ["dgx", dgx],
        ["second", second],
      ]);
    expect(refusals(there, {}, booted("x", "x"))).toEqual(TOO_MUCH);
    expect(refusals(there, {}, booted("x", "y"))).toEqual([]);
    expect(refusals({ ...there, dockerHost: ROOTLESS }, {}, booted("x", "y"))).toEqual([]);
  });

  it("may share a computer that has room for both", () => {
    const dgx = { instanceA: "none" };
    expect(refusals({ dockerHost: ROOTLESS, ...serverC(0.3) }, dgx)).toEqual([]);
  });

  it("count an instance A of their computer once, by its larger share", () => {
    const instanceA = { gpuMemoryUtilization: 0.3 };
    const dgx = { instanceA: { gpuMemoryUtilization: 0.25 } };
    const second = { dockerHost: ROOTLESS, instanceA, ...serverC(0.1) };
    expect(refusals(second, dgx)).toEqual([]);
    const [own] = refusals({ ...second, ...serverC(0.2) }, dgx);
    expect(own).toContain(
      "aggregate-utilization dgx-b: The servers of dgx and second (one computer) claim 0.95 of its memory, and 0.90 is the limit.",
    );
  });

  it("count two instances A by two ports", () => {
    const instanceA = { gpuMemoryUtilization: 0.1, port: 8010 };
    const [sum, lines] = refusals(
      { dockerHost: ROOTLESS, instanceA, ...serverC(0.1) },
      { instanceA: { gpuMemoryUtilization: 0.3 } },
    );
    expect(sum).toContain(
      "aggregate-utilization dgx-b: The servers of dgx and second (one computer) claim 0.95 of its memory, and 0.90 is the limit.",
    );
    expect(lines).toBeUndefined();
  });

  it("share the ports of their computer", () => {
    const dgx = { instanceA: { gpuMemoryUtilization: 0.1 } };
    expect(refusals({ dockerHost: ROOTLESS, ...serverC(0.1, 8001) }, dgx)).toEqual([
      "host-ports second-c: c and b both take host port 8001/tcp. Give one of them another port, such as 8002. They listen on 127.0.0.1 and 127.0.0.1. In the stack file: `machines.second.inferenceServers.c.port: 8002`.",
    ]);
    expect(refusals({ dockerHost: ROOTLESS, ...serverC(0.1, 8000) }, dgx)).toEqual([
      "host-ports second-c: c takes host port 8000, which is instance A's. Publish another port, such as 8002. In the stack file: `machines.second.inferenceServers.c.port: 8002`.",
    ]);
    expect(refusals({ dockerHost: "ssh://me@dgx2", ...serverC(0.1, 8001) }, dgx)).toEqual([]);
  });
});

type Line = [name: string, gib: number, basis?: string];

/** A machine component on a socket of this computer. */
const machine = (name: string, lines: readonly Line[], more: Given = {}, memory: Given = {}) => ({
  ...declared(TYPE.machine, name, {
    machine: name,
    totalGiB: 100,
    hostInstance: "none",
    memory: {
      lines: lines.map(([line, gib, basis = "setting"]) => ({ name: line, gib, basis })),
      largestUtilization: {},
      ...memory,
    },
    ...more,
  }),
  dockerHost: `unix:///run/${name}.sock`,
});

const A = { port: 8000, gpuMemoryUtilization: 0.1 };
const sums = (...resources: DeclaredResource[]) => said("memory-sum", resources);

describe("the memory of several machines on one computer", () => {
  it("holds what a computer has once by its largest line", () => {
    const one: Line[] = [
      ["operating system", 30],
      ["instance A", 10],
      ["x", 20],
    ];
    const two: Line[] = [
      ["operating system", 20],
      ["instance A", 12],
      ["x", 20],
    ];
    const lines = (a: Given, b: Given) => sums(machine("a", one, a), machine("b", two, b));
    expect(lines({ hostInstance: A }, { hostInstance: A })).toEqual([]);
    const three: Line[] = [["y", 19]];
    expect(
      sums(
        machine("a", one, { hostInstance: A }),
        machine("b", two, { hostInstance: A }),
        machine("c", three),
      ),
    ).toEqual([
      "refused: The memory of c doesn't fit: 101.00 of 100.00 GiB, 1.00 too much. What else can be reduced, the largest first: x, x, y, instance A. Declared or measured: operating system 30.00 + x 20.00 + instance A 12.00 + x 20.00 + y 19.00. a and b and c are one computer with one memory.",
    ]);
    expect(lines({ hostInstance: A }, { hostInstance: { ...A, port: 8010 } })).toEqual([]);
    expect(
      sums(
        machine("a", one, { hostInstance: A }),
        machine("b", two, { hostInstance: { ...A, port: 8010 } }),
        machine("c", [["y", 9]]),
      ).join(),
    ).toContain(
      "refused: The memory of c doesn't fit: 101.00 of 100.00 GiB, 1.00 too much. What else can be reduced, the largest first: x, x, instance A, instance A, y.",
    );
  });

  it("holds a line of a server for each, though its name ends like instance A's", () => {
    const named: Line[] = [["my instance A", 60]];
    const [a, b] = ["a", "b"].map((name) => machine(name, named, { hostInstance: A }));
    expect(sums(...[a, b].flatMap((each) => each ?? [])).join()).toContain(
      "refused: The memory of b doesn't fit: 120.00 of 100.00 GiB, 20.00 too much. What else can be reduced, the largest first: my instance A, my instance A.",
    );
  });

  it("holds one of two lines of one size", () => {
    const same: Line[] = [["operating system", 60]];
    expect(sums(machine("a", same), machine("b", same))).toEqual([]);
  });

  it("warns where only defaults put it over", () => {
    const large: Line[] = [["x", 60, "default"]];
    expect(sums(machine("a", large), machine("b", large))).toEqual([
      "warned: The memory of b may not fit: 120.00 of 100.00 GiB with defaults. Measure them, or leave more room. Declared or measured: nothing. Defaults: x 60.00 + x 60.00. a and b are one computer with one memory.",
    ]);
  });

  it("is the smaller of two totals", () => {
    const half: Line[] = [["x", 50]];
    expect(sums(machine("a", half), machine("b", half, { totalGiB: 120 }))).toEqual([]);
    expect(
      sums(machine("a", half, { totalGiB: 120 }), machine("b", half, { totalGiB: 99 })).join(),
    ).toContain(
      "refused: The memory of b doesn't fit: 100.00 of 99.00 GiB, 1.00 too much. What else can be reduced, the largest first: x, x.",
    );
    expect(
      sums(machine("a", half, { totalGiB: UNKNOWN_NUMBER }), machine("b", [["x", 51]])).join(),
    ).toContain("The memory of b doesn't fit: 101.00 of 100.00 GiB");
  });

  it("isn't judged of components that say nothing of it", () => {
    const silent = { memory: undefined };
    expect(sums(machine("a", [], silent), machine("b", [], silent))).toEqual([]);
    const unsized = { ...silent, totalGiB: undefined };
    expect(sums(machine("a", [], unsized), machine("b", [], unsized))).toEqual([]);
    expect(
      sums(machine("a", [], silent), machine("b", [["x", 101]])).filter((each) =>
        each.includes("a and b"),
      ),
    ).toHaveLength(1);
  });

  it("is not summed for machines of several computers", () => {
    const half: Line[] = [["x", 60]];
    const there = { ...machine("b", half), dockerHost: "ssh://me@dgx2" };
    expect(sums(machine("a", half), there)).toEqual([]);
  });
});

const vllm = (name: string, share: string, provider: string, more: Given = {}) =>
  server(
    {
      command: ["m", "--served-model-name", "m", "--gpu-memory-utilization", share],
      ports: [],
      ...more,
    },
    name,
    { provider },
  );
const onRequest = {
  restart: "no",
  start: false,
  mustRun: false,
  labels: [{ label: "local-serving.start", value: "onRequest" }],
};

describe("servers of several machines on one computer", () => {
  const set = (servers: readonly (readonly [string, number])[], sets: readonly string[][]) => ({
    together: { servers: servers.map(([name, utilization]) => ({ name, utilization })), sets },
  });
  const one = machine(
    "one",
    [],
    {},
    set(
      [
        ["b", 0.5],
        ["c", 0.2],
        ["d", 0.2],
      ],
      [["b"], ["c", "d"]],
    ),
  );

  it("that start on request count by the largest set of each", () => {
    const two = (share: number) =>
      machine(
        "two",
        [],
        {},
        set(
          [
            ["e", 0.1],
            ["f", share],
          ],
          [["e"]],
        ),
      );
    const containers = (share: string) => [
      vllm("b", "0.5", "one", onRequest),
      vllm("c", "0.2", "one", onRequest),
      vllm("d", "0.2", "one", onRequest),
      vllm("e", "0.1", "two", onRequest),
      vllm("f", share, "two", onRequest),
    ];
    expect(said(RULE, [one, two(0.4), ...containers("0.4")])).toEqual([]);
    expect(said(RULE, [one, two(0.45), ...containers("0.45")]).join()).toContain(
      "refused: The servers of one and two (one computer) claim 0.95 of its memory, and 0.90 is the limit. Either set --gpu-memory-utilization of b to 0.45 or less.",
    );
  });

  it("count beyond their shares by what either machine says", () => {
    const fixed = ["m", "--served-model-name", "m", "--kv-cache-memory-bytes", "40G"];
    const command = [...fixed, "--gpu-memory-utilization", "0.1"];
    const two = machine("two", [], {}, { fixedKvCache: { f: { outsideGiB: 12 } } });
    const bare = machine("one", [], {}, { fixedKvCache: { b: { outsideGiB: 10 } } });
    expect(
      said(RULE, [
        bare,
        two,
        vllm("b", "0.1", "one", { command }),
        vllm("f", "0.1", "two", { command }),
      ]).join(),
    ).toContain(
      "refused: The servers of one and two (one computer) claim 1.02 of its memory, and 0.90 is the limit. Either lower --kv-cache-memory-bytes of b by 12.00 GiB or more.",
    );
  });

  it("may need as many GPUs as either machine says", () => {
    const command = [
      "m",
      "--served-model-name",
      "m",
      "-tp",
      "2",
      "--gpu-memory-utilization",
      "0.1",
    ];
    const b = vllm("b", "0.1", "one", { command });
    const gpus = (count: number) => machine("two", [], { gpus: count });
    const first = machine("one", []);
    const others = (found: readonly string[]) => found.filter((each) => each.includes("GPUs"));
    expect(others(said(RULE, [first, gpus(2), b]))).toEqual([]);
    expect(others(said(RULE, [first, gpus(1), b]))).toHaveLength(1);
  });

  it("say of instance A what either machine says", () => {
    const ports = [{ ip: "127.0.0.1", internal: 1, external: 8000 }];
    const b = vllm("b", "0.1", "one", { ports });
    const taken = (...hosts: unknown[]) =>
      said("host-ports", [
        ...hosts.map((host, at) => machine(at ? "two" : "one", [], { hostInstance: host })),
        b,
      ]);
    expect(taken("none", "none")).toEqual([]);
    expect(taken("none", A)).toHaveLength(1);
    expect(taken(A, "none")).toHaveLength(1);
    expect(
      said(RULE, [
        machine("one", []),
        machine("two", [], { hostInstance: { ...A, gpuMemoryUtilization: 0.85 } }),
        b,
      ]).join(),
    ).toContain(
      "refused: The servers of one and two (one computer) claim 0.95 of its memory, and 0.90 is the limit. Set --gpu-memory-utilization of b to 0.05 or less.",
    );
  });
});

it("instances A of one port on several machines are one, the larger or the first", () => {
  const [one, two] = [machine("one", []), machine("two", [])];
  const kept = (...instances: DeclaredResource[]) =>
    onComputers([one, two, ...instances]).map(({ machine: named, hostInstances }) => [
      named,
      hostInstances.map(({ props }) => `${props.machine} ${props.gpuMemoryUtilization}`),
    ]);
  const each = (a: number, b: number, port: unknown = 8000) =>
    kept(hostInstance(a, "one", port), hostInstance(b, "two", port));
  expect(each(0.1, 0.2)).toEqual([["one and two", ["two 0.2"]]]);
  expect(each(0.2, 0.1)).toEqual([["one and two", ["one 0.2"]]]);
  expect(each(0.1, 0.1)).toEqual([["one and two", ["one 0.1"]]]);
  expect(each(0.1, 0.2, null)).toEqual([["one and two", ["one 0.1", "two 0.2"]]]);
  expect(kept(hostInstance(0.1, "one"), hostInstance(0.2, "two", 8010))).toEqual([
    ["one and two", ["one 0.1", "two 0.2"]],
  ]);
  expect(kept(hostInstance(0.1, "one"), hostInstance(0.2, "one"))).toEqual([
    ["one and two", ["one 0.1", "one 0.2"]],
  ]);
});

it("records and llama-swap of all machines on a computer are its own, each once", () => {
  const of = (type: string, name: string, on?: string) => declared(type, name, { machine: on });
  const records = [of(TYPE.inferenceServer, "b", "one"), of(TYPE.inferenceServer, "c")];
  const swaps = [of(TYPE.onDemand, "s", "one"), of(TYPE.onDemand, "t", "two")];
  const b = vllm("b", "0.1", "elsewhere");
  const [group, ...further] = onComputers([
    machine("one", []),
    machine("two", []),
    ...records,
    ...swaps,
    b,
  ]);
  expect(further).toEqual([]);
  expect(group).toMatchObject({ containers: [b], serverRecords: records, onDemand: swaps });
});

it("a machine that is known by a record alone shares its computer, too", () => {
  const on = (machineName: string, name: string) => [
    declared(TYPE.inferenceServer, name, { machine: machineName, container: name }),
    vllm(name, "0.1", "urn:here"),
  ];
  const here = {
    ...declared("pulumi:providers:docker", "here", { host: "unix:///run/here.sock" }),
    urn: "urn:here",
  };
  const seen = (...resources: DeclaredResource[]) =>
    onComputers(resources).map(({ machine: named, component }) => [
      named,
      component?.name ?? component,
    ]);
  expect(seen(machine("one", []), here, ...on("two", "c"))).toEqual([["one and two", "one"]]);
  expect(seen(here, ...on("two", "c"), ...on("three", "d"))).toEqual([
    ["two and three", undefined],
  ]);
});

describe("machines that only the hosts of their providers tell apart", () => {
  const at = (name: string, host: string, share = "0.85") => [
    { ...declared("pulumi:providers:docker", name, { host }), urn: `urn:${name}` },
    vllm(`vllm-${name}`, share, `urn:${name}`),
  ];
  const found = (...resources: DeclaredResource[]) =>
    said(RULE, resources).filter((each) => !each.includes("No instance A is declared"));

  it("are summed apart, and a note names them", () => {
    const resources = [...at("a", "ssh://me@spark-1"), ...at("b", "ssh://me@10.0.0.5")];
    expect(found(...resources)).toEqual([
      "warned: Memory is summed apart for 2 computers. These are spark-1 (vllm-a), 10.0.0.5 (vllm-b), as the hosts of their Docker providers differ. A name and an address of one computer differ too: if two of these are one, give their providers the same `host`.",
    ]);
    const [said_] = judge(resources).filter(({ message }) => message.startsWith("Memory is"));
    expect(said_).toMatchObject({ note: true, resource: "vllm-a" });
  });

  it("are summed together in two spellings", () => {
    const resources = [...at("a", "ssh://me@Spark-1.:22"), ...at("b", "tcp://spark-1:2376")];
    expect(found(...resources)).toEqual([
      "refused: The servers of this machine claim 1.70 of its memory, and 0.90 is the limit. Either set --gpu-memory-utilization of vllm-a to 0.05 or less. The plan still warns of the sum of the shares. Or set --gpu-memory-utilization of vllm-b to 0.05 or less. The plan still warns of the sum of the shares. Claimed: vllm-a 0.85 + vllm-b 0.85.",
    ]);
  });

  it("are named with what else is counted, once each", () => {
    const dgx = { ...machine("dgx", []), dockerHost: "ssh://me@dgx" };
    const idle = [
      { ...declared("pulumi:providers:docker", "d", { host: "ssh://idle" }), urn: "urn:d" },
      server(
        { image: "nginx:1", command: [], envs: [], gpus: undefined, ipcMode: undefined, ports: [] },
        "web",
        { provider: "urn:d" },
      ),
    ];
    const own = vllm("own", "0.4", "dgx");
    expect(
      found(dgx, own, ...at("a", ROOTLESS, "0.4"), ...at("b", "unix:///b", "0.4"), ...idle),
    ).toEqual([expect.stringContaining("These are dgx (own), this computer (vllm-a, vllm-b), as")]);
    expect(found(dgx, own, ...idle)).toEqual([]);
    expect(
      found(hostInstance(0.1, "x"), hostInstance(0.1, "y"), ...at("a", ROOTLESS, "0.4")),
    ).toEqual([]);
  });

  it("are named once with all that may run there, on whichever machine", () => {
    const ofX = declared(TYPE.inferenceServer, "d", { machine: "x", container: "vllm-d" });
    const resources = [
      ...["x", "y"].map((name) => hostInstance(0.1, name)),
      ...[...at("a", "ssh://me@a", "0.1"), ...at("b", "ssh://me@b", "0.1")],
      ofX,
      vllm("vllm-d", "0.1", "urn:undeclared"),
    ];
    expect(found(...resources)).toEqual([
      expect.stringContaining("These are a (vllm-a, vllm-d), b (vllm-b, vllm-d), as"),
    ]);
  });

  it("need no note where machines are named", () => {
    const two = ["one", "two"].map((name) => ({
      ...machine(name, []),
      dockerHost: `ssh://${name}`,
    }));
    expect(found(...two, vllm("b", "0.8", "one"), vllm("c", "0.8", "two"))).toEqual([]);
  });
});
