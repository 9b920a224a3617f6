import { describe, expect, it } from "vitest";
import { bridge } from "../../../components/bridge/service";
import { TYPE } from "../../../components/planned/type";
import type { DeclaredResource } from "../../../policies/lib/container";
import { byMachine, serverRecords } from "../../../policies/lib/machines";
import { UNKNOWN } from "../../../vllm/argv/unknown";

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
      { one: ["b", "c"], two: ["c"] },
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
