import { describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { parseStackFile } from "../../components/settings/load";
import { stackSettings } from "../../components/settings/stackSettings";
import { faultLines } from "../fixtures/faults";
import { serverInput } from "../fixtures/machine";
import { onRequest, plannedOnDemand, RESIDENT } from "../fixtures/onDemand";
import { node } from "../fixtures/ranks";
import { BRIDGE, CHAT_UI } from "../fixtures/services";

const evidence = { home: "/home/me" };
const machine = (more: Record<string, unknown> = {}) => ({
  totalGiB: 121.63,
  instanceA: "none",
  inferenceServers: { b: serverInput() },
  clients: { codex: {} },
  ...more,
});

describe("two machines", () => {
  const onOne = (dockerHost: string) => {
    const lines = "totalGiB: 8\n      instanceA: none\n";
    return `config:\n  local-serving:machines:\n    dgx:\n      ${lines}    spark:\n      ${lines}      dockerHost: ${dockerHost}\n`;
  };

  it.each([
    ...["unix:///var/run/docker.sock", "unix:///run/docker.sock", "unix:///var/run/docker.sock/"],
    ...[
      "127.0.0.1",
      "127.1",
      "0x7f000001",
      "localhost",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "me@0.0.0.0",
    ].map((host) => `ssh://${host}`),
  ])("on one Docker engine are refused: the default and %s", (dockerHost) => {
    expect(faultLines(() => parseStackFile("stack", onOne(JSON.stringify(dockerHost))))).toEqual([
      `machines.spark.dockerHost: spark and dgx are on one Docker engine (${dockerHost}), so they are one machine with one memory: put their servers below one of them, or give each its own \`dockerHost\`.`,
    ]);
  });

  it("on two engines pass", () => {
    expect(faultLines(() => parseStackFile("stack", onOne("ssh://me@spark")))).toEqual([]);
  });

  const pair = (dockerHost: string, more: Record<string, unknown> = {}) =>
    faultLines(() =>
      plan(
        stackSettings.parse({ machines: { a: machine(), b: machine({ dockerHost, ...more }) } }),
        evidence,
      ),
    );

  it("of one computer that write one path are refused, by that path", () => {
    expect(pair("unix:///run/user/1000/docker.sock")).toEqual([
      "machines.b: codex-config of b and codex-config of a would both be written to /home/me/.codex/local-serving.config.toml: remove one, or change its folder.",
      "machines.b: launcher-codex of b and launcher-codex of a would both be written to /home/me/.local/bin/local-codex: remove one, or change its folder.",
    ]);
    const launchers = (launcherFolder: string) =>
      pair("unix:///run/user/1000/docker.sock", { clients: { codex: {}, launcherFolder } }).length;
    expect([launchers("~/b"), launchers("/home/me/.local/bin/")]).toEqual([1, 2]);
  });

  it("of two computers may write the same path", () => {
    expect(pair("ssh://me@spark")).toEqual([]);
  });
});

describe("two containers of one machine", () => {
  const faultsOf = (settings: object) =>
    faultLines(() =>
      plan(
        stackSettings.parse({ machines: { dgx: machine({ clients: {}, ...settings }) } }),
        evidence,
      ),
    );
  const pair = (first: object, second: object) =>
    faultsOf({ inferenceServers: { b: serverInput({ ...first }), c: serverInput({ ...second }) } });

  it("that would have one name are refused, whatever address their ports are published on", () => {
    const says =
      "machines.dgx.inferenceServers.c.servedModelName: The containers of `b` and `c` would both be called vllm-a-b-8001, and Docker gives a name once: write another `port`, or a name that differs in letters, digits, dots or dashes.";
    const [first, second] = [{ listen: "192.168.1.5" }, { listen: "127.0.0.1" }];
    expect(
      pair({ servedModelName: "a-b", ...first }, { servedModelName: "A:B", ...second }),
    ).toEqual([says]);
    expect(pair({ servedModelName: "a-b" }, { servedModelName: "a-b", port: 8002 })).toEqual([]);
    expect(pair({ servedModelName: "a-b" }, { servedModelName: "a.b", ...first })).toEqual([]);
  });

  it("need names that a host can have, where one asks the other", () => {
    const named = (servedModelName: string, more: object) =>
      faultsOf({ inferenceServers: { b: serverInput({ servedModelName }) }, ...more });
    const long = "m".repeat(55);
    expect(named(long, { bridge: BRIDGE })).toEqual([
      `machines.dgx.inferenceServers.b.servedModelName: Other containers reach this server as vllm-${long}-8001, and no part of a host's name has more than 63 characters: make it 2 shorter.`,
    ]);
    expect(named(long.slice(2), { chatUi: CHAT_UI })).toEqual([]);
    expect(named(`${long}.x`, { chatUi: CHAT_UI })).toEqual([]);
    // Nothing else asks it by that name.
    expect(named(long, {})).toEqual([]);
    const [b, c] = [long, "c"].map((servedModelName, at) =>
      serverInput({ servedModelName, port: 8001 + at }),
    );
    const bridge = { ...BRIDGE, servers: ["c"] };
    const more = { bridge, inferenceServers: { b, c } };
    expect(named(long, { ...more, chatUi: { ...CHAT_UI, connections: ["bridge"] } })).toEqual([]);
    expect(named(long, { ...more, chatUi: CHAT_UI })).toHaveLength(1);
  });

  it("need no such names behind llama-swap, which is asked by its address", () => {
    const long = "m".repeat(55);
    const asked = { bridge: BRIDGE, chatUi: CHAT_UI };
    const inferenceServers = { b: RESIDENT, c: onRequest(long, 8002) };
    expect(faultLines(() => plannedOnDemand({ ...asked, inferenceServers }))).toEqual([]);
  });

  it("of which one is a worker's are refused by the server that it belongs to", () => {
    const over = (head: string, masterPort: number) =>
      serverInput({ nodes: [head, "dgx2"], tensorParallelSize: 2, masterPort });
    const machines = {
      dgx1: node(1, { inferenceServers: { b: over("dgx1", 29501) } }),
      dgx2: node(2),
      dgx3: node(3, { inferenceServers: { b: over("dgx3", 29601) } }),
    };
    expect(faultLines(() => plan(stackSettings.parse({ machines }), evidence))).toEqual([
      "machines.dgx3.inferenceServers.b.servedModelName: The containers of `dgx1.b` and `dgx3.b` would both be called vllm-model-8001-rank1, and Docker gives a name once: write another `port`, or a name that differs in letters, digits, dots or dashes.",
    ]);
  });
});
