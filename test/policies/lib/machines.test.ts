import { SSH_OPTIONS } from "@local-serving/machines/onMachine";
import { UNKNOWN } from "@local-serving/vllm/argv/unknown";
import { describe, expect, it } from "vitest";
import { TYPE } from "../../../components/planned/type";
import { bridge } from "../../../components/services/bridge/service";
import type { DeclaredResource } from "../../../policies/lib/container";
import { byComputer, byMachine, serverRecords } from "../../../policies/lib/machines";

type More = Partial<DeclaredResource>;

const declared = (
  type: string,
  name: string,
  props: Record<string, unknown> = {},
  more: More = {},
) => ({
  type,
  name,
  urn: `urn:${name}`,
  props,
  ...more,
});
const machine = (name: string, servers: unknown[] = []) =>
  declared(TYPE.machine, name, { servers });
const box = (name: string, more: More = {}, props = {}) =>
  declared(TYPE.container, name, props, more);
const server = (container: unknown, on?: string) =>
  declared(TYPE.inferenceServer, `server-${String(container)}`, { container, machine: on });
const docker = (name: string, host?: unknown, more: More = {}) =>
  declared("pulumi:providers:docker", name, { host }, more);

const ONE = machine("one");
const TWO = machine("two");
const AT_P: More = { provider: "urn:p" };
const AT_Q: More = { provider: "urn:q" };
const OVER_TCP = "tcp://10.0.0.1:2375";

/** Names of the containers on each machine. */
const places = (...resources: DeclaredResource[]) =>
  Object.fromEntries(
    byMachine(resources).map((group) => [group.machine, group.containers.map(({ name }) => name)]),
  );

describe("the machine that a container runs on", () => {
  it.each<[string, DeclaredResource[], Record<string, string[]>]>([
    ["the only one", [ONE, box("b")], { one: ["b"] }],
    ["none has a name", [box("b")], { undefined: ["b"] }],
    ["nothing tells: each", [ONE, TWO, box("b")], { one: ["b"], two: ["b"] }],
    [
      "the component above it",
      [ONE, TWO, box("b", { parent: "urn:two" })],
      { one: [], two: ["b"] },
    ],
    [
      "the component further above",
      [
        ONE,
        TWO,
        declared(bridge.component, "bridge", {}, { parent: "urn:two" }),
        box("b", { parent: "urn:bridge" }),
      ],
      { one: [], two: ["b"] },
    ],
    ["llama-swap's", [declared(TYPE.onDemand, "s", { machine: "two" }), box("b")], { two: ["b"] }],
    [
      "its provider's name, whatever a record says",
      [ONE, TWO, server("b", "two"), box("b", { provider: "one" })],
      { one: ["b"], two: [] },
    ],
    [
      "a parent that is not declared",
      [ONE, TWO, box("b", { parent: "urn:x" })],
      { one: ["b"], two: ["b"] },
    ],
    ["its provider's name", [ONE, TWO, box("b", { provider: "two" })], { one: [], two: ["b"] }],
    [
      "a record of the container's name",
      [ONE, TWO, server("x", "two"), box("b", {}, { name: "x" })],
      { one: [], two: ["b"] },
    ],
    [
      "a record of the resource's name",
      [ONE, TWO, server("b", "two"), box("b", {}, { name: "x" })],
      { one: [], two: ["b"] },
    ],
    [
      "a component's servers",
      [ONE, machine("two", [{ name: "b" }]), box("b")],
      { one: [], two: ["b"] },
    ],
    [
      "two records: each",
      [ONE, TWO, server("b", "one"), server("b", "two"), box("b")],
      { one: ["b"], two: ["b"] },
    ],
    [
      "a record without a machine says nothing",
      [ONE, TWO, server("b"), server("b", "two"), box("b")],
      { one: [], two: ["b"] },
    ],
    [
      "a record of a name that is not known",
      [ONE, TWO, server(UNKNOWN, "two"), box("b")],
      { one: ["b"], two: ["b"] },
    ],
    [
      "that of others with its provider",
      [ONE, TWO, server("b", "one"), box("b", AT_P), box("c", AT_P), box("d", AT_Q)],
      { one: ["b", "c", "d"], two: ["d"] },
    ],
    [
      "both, where others with its provider are on both",
      [ONE, TWO, server("b", "one"), server("c", "two"), box("b", AT_P), box("c", AT_P)],
      { one: ["b", "c"], two: ["b", "c"] },
    ],
    [
      "that of others whose provider has its host, as it is written",
      [
        ONE,
        TWO,
        docker("p", OVER_TCP),
        docker("q", `${OVER_TCP}/`),
        server("b", "one"),
        box("b", AT_P),
        box("c", AT_Q),
      ],
      { one: ["b", "c"], two: [] },
    ],
    [
      "not that of others whose provider has another host",
      [
        ONE,
        TWO,
        docker("p", OVER_TCP),
        docker("q"),
        server("b", "one"),
        box("b", AT_P),
        box("c", AT_Q),
      ],
      { one: ["b"], two: ["c"] },
    ],
    [
      "not that of others whose provider's host is not known",
      [
        ONE,
        TWO,
        docker("p", UNKNOWN),
        docker("q", UNKNOWN),
        server("b", "one"),
        box("b", AT_P),
        box("c", AT_Q),
      ],
      { one: ["b", "c"], two: ["c"] },
    ],
    [
      "not that of others without a provider",
      [ONE, TWO, docker("p", undefined, { urn: "" }), server("b", "one"), box("b"), box("c")],
      { one: ["b", "c"], two: ["c"] },
    ],
  ])("is %s", (_, resources, expected) => expect(places(...resources)).toEqual(expected));

  it("is not that of others without a provider where a provider has no URN", () => {
    const { urn: _, ...provider } = docker("p");
    expect(places(ONE, TWO, provider, server("b", "one"), box("b"), box("c"))).toEqual({
      one: ["b", "c"],
      two: ["c"],
    });
  });
});

/** A container on a provider of its own, which may lead to a host. */
const on = (name: string, host?: unknown, more: More = {}, props = {}) => [
  { ...docker(`${name}-p`, host), props: { host, ...props } },
  box(name, { provider: `urn:${name}-p`, ...more }),
];

/** Names of the containers on each machine of each computer, with the host that told it apart. */
const computers = (...resources: DeclaredResource[]) =>
  byComputer(resources).map((groups) =>
    groups.map(({ machine: named, computer, containers }) =>
      [named, computer, containers.map(({ name }) => name).join()].map(String).join(" "),
    ),
  );

const SPARK = "ssh://me@spark-1";
const OTHER = "ssh://me@spark-2";
const ROOTLESS = "unix:///run/user/1000/docker.sock";

describe("the computer that a container runs on", () => {
  it.each<[string, DeclaredResource[], string[]]>([
    ["two, by their hosts", [...on("b", SPARK), ...on("c", OTHER)], ["spark-1 b", "spark-2 c"]],
    [
      "two, by the host of one and a socket here",
      [...on("b", SPARK), ...on("c", ROOTLESS)],
      ["spark-1 b", "this computer c"],
    ],
    [
      "two, where one has no provider",
      [...on("b", SPARK), box("c")],
      ["spark-1 b", "this computer c"],
    ],
    [
      "one, in two spellings",
      [...on("b", SPARK), ...on("c", "tcp://Spark-1.:2376")],
      ["spark-1 b,c"],
    ],
    [
      "one, by two ports",
      [...on("b", "ssh://gate:2201"), ...on("c", "ssh://gate:2202")],
      ["gate b,c"],
    ],
    ["this one, by two sockets", [...on("b"), ...on("c", ROOTLESS)], ["this computer b,c"]],
    ["this one, without a host", [...on("b", ""), box("c")], ["this computer b,c"]],
    [
      "each, where a host is not known",
      [...on("b", SPARK), ...on("c", UNKNOWN), ...on("d", OTHER)],
      ["spark-1 b,c", "spark-2 c,d"],
    ],
    ["one, where no host is known", [...on("b", UNKNOWN), ...on("c", UNKNOWN)], ["undefined b,c"]],
    [
      "each, where its provider is not declared",
      [...on("b", SPARK), box("c", AT_P)],
      ["spark-1 b,c"],
    ],
    [
      "each, where a context counts",
      [...on("b", SPARK), ...on("c", OTHER, {}, { context: "x" })],
      ["spark-1 b,c"],
    ],
    [
      "its host's, where a context is empty",
      [...on("b", SPARK), ...on("c", OTHER, {}, { context: "" })],
      ["spark-1 b", "spark-2 c"],
    ],
    ["none, without containers", [], ["undefined "]],
  ])("is %s", (_, resources, expected) =>
    expect(computers(...resources)).toEqual(expected.map((each) => [`undefined ${each}`])),
  );

  const OTHER_HOSTS = [
    ["-o", "HostName=spark-1"],
    ["-oHostname spark-1"],
    ["-o", "host name=x"],
    ["-o", "ProxyCommand=nc spark-1 22"],
    ["-J", "bastion"],
    ["-4F", "other.config"],
    ["-i", "key", "-F", "other.config"],
    [UNKNOWN],
  ];
  it.each(OTHER_HOSTS.map((sshOpts) => [sshOpts]))(
    "is not known with ssh's options %j",
    (sshOpts) =>
      expect(computers(...on("b", SPARK), ...on("c", OTHER, {}, { sshOpts }))).toEqual([
        ["undefined spark-1 b,c"],
      ]),
  );

  it("is not known with such options as JSON, as an SDK hands them over", () => {
    const sshOpts = JSON.stringify(["-F", "other.config"]);
    const provided = on("c", OTHER, {}, { sshOpts });
    expect(computers(...on("b", SPARK), ...provided)).toEqual([["undefined spark-1 b,c"]]);
  });

  it.each([
    [["-o", "StrictHostKeyChecking=yes", "-o", "UserKnownHostsFile=/dev/null"]],
    [["-i", "/home/me/.ssh/Fox", "-p", "2222", "-v", "-f", "-oForwardAgent=no"]],
    [JSON.stringify(SSH_OPTIONS)],
  ])("is its host's with ssh's options %j", (sshOpts) =>
    expect(computers(...on("b", SPARK), ...on("c", OTHER, {}, { sshOpts }))).toHaveLength(2),
  );

  it("is where Docker's client looks, where a provider has no host", () => {
    const three = [...on("b", SPARK), ...on("c"), box("d")];
    expect(withVariables({ DOCKER_HOST: SPARK }, ...three)).toEqual([["undefined spark-1 b,c,d"]]);
    const two = [...on("b", SPARK), ...on("c", OTHER)];
    expect(withVariables({ DOCKER_CONTEXT: "x" }, ...two)).toEqual([["undefined undefined b,c"]]);
  });
});

/** The computers of resources where variables of Docker's client are set. */
function withVariables(variables: Record<string, string>, ...resources: DeclaredResource[]) {
  const before = { ...process.env };
  Object.assign(process.env, variables);
  try {
    return computers(...resources);
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name];
    Object.assign(process.env, before);
  }
}

describe("the machines of a computer", () => {
  const host = (name: string) => declared(TYPE.hostInstance, `${name}-a`, { machine: name });
  const planned = (name: string, dockerHost?: string, bootId?: string) => ({
    ...machine(name),
    ...(dockerHost && { dockerHost }),
    ...(bootId && { bootId }),
  });

  it.each<[string, DeclaredResource[], string[][]]>([
    ["one each", [ONE, TWO], [["one undefined "], ["two undefined "]]],
    [
      "several with one socket each",
      [
        planned("one", "unix:///run/docker.sock"),
        planned("two", ROOTLESS),
        planned("three", SPARK),
      ],
      [["one undefined ", "two undefined "], ["three undefined "]],
    ],
    [
      "not one with a port that may lead elsewhere",
      [planned("one", ROOTLESS), planned("two", "ssh://localhost:2222")],
      [["one undefined "], ["two undefined "]],
    ],
    [
      "several with one boot id",
      [planned("one", SPARK, "x"), planned("two", OTHER, "x")],
      [["one undefined ", "two undefined "]],
    ],
    [
      "one each, with two boot ids",
      [planned("one", ROOTLESS, "x"), planned("two", ROOTLESS, "y")],
      [["one undefined "], ["two undefined "]],
    ],
    [
      "several by their hosts, where one boot id is not known",
      [planned("one", SPARK, "x"), planned("two", SPARK)],
      [["one undefined ", "two undefined "]],
    ],
    [
      "several on one engine, whatever their boot ids",
      [
        planned("one", undefined, "x"),
        planned("two", undefined, "y"),
        server("b", "one"),
        server("c", "two"),
        box("b", AT_P),
        box("c", AT_P),
      ],
      [["one undefined b,c", "two undefined b,c"]],
    ],
    [
      "those that a third one joins",
      [planned("one", SPARK, "x"), planned("two", ROOTLESS), planned("three", ROOTLESS, "x")],
      [["one undefined ", "two undefined ", "three undefined "]],
    ],
    [
      "those of which one joins them",
      [planned("one", SPARK, "x"), planned("two", SPARK), planned("three", ROOTLESS, "x")],
      [["one undefined ", "two undefined ", "three undefined "]],
    ],
    [
      "a machine's, by another engine of its computer",
      [planned("one", SPARK), ...on("c", "tcp://spark-1:2376")],
      [["one undefined c"]],
    ],
    [
      "several whose containers have providers of one host",
      [
        ONE,
        TWO,
        ...on("b", SPARK, { parent: "urn:one" }),
        ...on("c", "tcp://spark-1:2376", { parent: "urn:two" }),
      ],
      [["one undefined b", "two undefined c"]],
    ],
    [
      "several whose providers have one host and two ports",
      [
        ONE,
        TWO,
        ...on("b", "ssh://gate:2201", { parent: "urn:one" }),
        ...on("c", "ssh://gate:2202", { parent: "urn:two" }),
      ],
      [["one undefined b", "two undefined c"]],
    ],
    [
      "one each, whose providers have tunnels",
      [
        ONE,
        TWO,
        ...on("b", "ssh://localhost:2201", { parent: "urn:one" }),
        ...on("c", "ssh://127.0.0.1:2202", { parent: "urn:two" }),
      ],
      [["one undefined b"], ["two undefined c"]],
    ],
    [
      "several whose providers are below them",
      [
        ONE,
        TWO,
        docker("p", ROOTLESS, { parent: "urn:one" }),
        docker("q", "", { parent: "urn:two" }),
      ],
      [["one undefined ", "two undefined "]],
    ],
    [
      "that with the name of a provider's host",
      [host("spark-1"), host("spark-2"), ...on("b", SPARK), ...on("c", OTHER)],
      [["spark-1 undefined b"], ["spark-2 undefined c"]],
    ],
    [
      "none of theirs, where the host is another",
      [planned("one", SPARK), ...on("c", OTHER), ...on("d", UNKNOWN)],
      [["one undefined d"], ["undefined spark-2 c,d"]],
    ],
    [
      "one that may be on either, counted with each",
      [host("dgx"), ...on("b", SPARK), ...on("c", OTHER), ...on("d", UNKNOWN)],
      [["dgx spark-1 b,d"], ["dgx spark-2 c,d"]],
    ],
    [
      "that of a machine, where it is known which",
      [ONE, server("c", "one"), ...on("c", SPARK), box("b")],
      [["one undefined c"], ["undefined this computer b"]],
    ],
  ])("are %s", (_, resources, expected) => expect(computers(...resources)).toEqual(expected));
});

it("a declaration without a machine holds for each", () => {
  const host = declared(TYPE.hostInstance, "a");
  const [one, two, ...further] = byMachine([ONE, TWO, host, server("b")]);
  expect([one?.machine, one?.hostInstances, one?.component]).toEqual(["one", [host], ONE]);
  expect([two?.machine, two?.hostInstances, two?.component]).toEqual(["two", [host], TWO]);
  expect([one, two].map((each) => each?.serverRecords.length)).toEqual([1, 1]);
  expect(further).toEqual([]);
});

describe("a record of a server", () => {
  const read = (props: Record<string, unknown>) => {
    const resources = [
      declared(TYPE.inferenceServer, "r", props),
      box("b", {}, { name: "x" }),
      box("c"),
    ];
    return byMachine(resources).flatMap(serverRecords)[0];
  };

  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    [
      "its container's name",
      { container: "x" },
      { container: { name: "b" }, containerNamed: "`x`" },
    ],
    [
      "its container's resource",
      { container: "b" },
      { container: { name: "b" }, containerNamed: "`b`" },
    ],
    ["another container", { container: "d" }, { container: undefined, containerNamed: "`d`" }],
    [
      "a model",
      { model: { id: "m", kind: "chat", thinking: true } },
      { model: "`m`", kind: "chat", thinking: true },
    ],
    [
      "a mode that is neither",
      { model: { thinking: "yes" } },
      { model: "nothing", kind: undefined, thinking: undefined },
    ],
    ["clients", { codingClients: ["a", 1] }, { codingClients: ["a", "1"] }],
    [
      "clients that are not known",
      { codingClients: UNKNOWN },
      { codingClients: ["a client that is not known yet"] },
    ],
  ])("with %s", (_, props, expected) => expect(read(props)).toMatchObject(expected));
});
