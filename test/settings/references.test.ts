import { describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { parseEngineConfig } from "../../components/settings/load";
import { faultLines, machinesFaults } from "../fixtures/faults";
import { serverInput } from "../fixtures/machine";
import { BRIDGE, CHAT_UI } from "../fixtures/services";

function faultsOf(machine: Record<string, unknown>): string[] {
  const dgx = {
    totalGiB: 121.63,
    instanceA: { gpuMemoryUtilization: 0.4 },
    inferenceServers: { b: serverInput() },
    ...machine,
  };
  return machinesFaults({ dgx }, "machines.dgx.");
}

describe("what a service or a client says of its server", () => {
  it.each<[string, Record<string, unknown>, string]>([
    [
      "a client of a server that is not there",
      { clients: { codex: { server: "c" } } },
      "clients.codex.server: No server `c` on this machine. Known: b, instance-a.",
    ],
    [
      "a client where no server is declared",
      { instanceA: "none", inferenceServers: {}, clients: { codex: {} } },
      "clients.codex.server: Say which server it uses: none is declared.",
    ],
    [
      "a client where only others' servers are declared",
      { inferenceServers: {}, simpleServer: { mode: "host" }, clients: { codex: {} } },
      "clients.codex.server: Say which server it uses: there are instance-a, simple-server.",
    ],
    [
      "a client that may mean two servers",
      {
        inferenceServers: { b: serverInput(), c: serverInput({ port: 8002 }) },
        clients: { codex: {} },
      },
      "clients.codex.server: Say which server it uses: there are b, c.",
    ],
    [
      "a client of instance A where nothing says what that serves",
      { clients: { codex: { server: "instance-a" } } },
      "clients.codex.server: Say what instance A serves: `instanceA.servedModelName`.",
    ],
    [
      "a client of an instance A that does not exist",
      { instanceA: "none", clients: { codex: { server: "instance-a" } } },
      "clients.codex.server: There is no instance A on this machine (`instanceA: none`).",
    ],
    [
      "a client through a bridge that is not there",
      { clients: { claudeCode: {} } },
      "clients.claudeCode.via: There is no `bridge` on this machine. Declare one, or write `via: native`.",
    ],
    [
      "a client through a bridge that has another server behind it",
      {
        instanceA: { gpuMemoryUtilization: 0.4, servedModelName: "old" },
        bridge: { ...BRIDGE, servers: ["instance-a"] },
        clients: { claudeCode: {} },
      },
      "clients.claudeCode.via: `b` is not behind the bridge: add it to `bridge.servers`.",
    ],
    [
      "a bridge with nothing behind it",
      { inferenceServers: {}, bridge: BRIDGE },
      "bridge.servers: Nothing to bridge: no inference server is declared.",
    ],
    [
      "a bridge of a server that is not there",
      { bridge: { ...BRIDGE, servers: ["b", "c"] } },
      "bridge.servers.1: No server `c` on this machine. Known: b, instance-a.",
    ],
    [
      "a bridge on the network without a key",
      { bridge: { ...BRIDGE, listen: "0.0.0.0" } },
      "bridge.keyVariable: The bridge is published on 0.0.0.0, which needs a key. Name the variable of your shell that holds one (`keyVariable`), or publish the bridge on 127.0.0.1.",
    ],
    [
      "a chat UI connected to a server that is not there",
      { chatUi: { ...CHAT_UI, connections: ["c"] } },
      "chatUi.connections.0: No server `c` on this machine. Known: b, instance-a.",
    ],
    [
      "output that leaves no room for a prompt",
      { clients: { claudeCode: { via: "native", maxOutputTokens: 262144 } } },
      "clients.claudeCode.maxOutputTokens: The server's window is 262144 tokens, prompt and output together: every request would be refused.",
    ],
    [
      "output that leaves no room for a prompt at the simple server",
      {
        simpleServer: { mode: "host", models: ["m"], contextLength: 8192 },
        clients: { opencode: { server: "simple-server" } },
      },
      "clients.opencode.maxOutputTokens: Ollama's window is 8192 tokens (`simpleServer.contextLength`), prompt and output together: nothing is left for the prompt.",
    ],
    [
      "a client of the simple server where nothing says which model",
      { simpleServer: { mode: "host" }, clients: { clientEnv: { server: "simple-server" } } },
      "clients.clientEnv.server: Say which model it asks for (`model`), or name models of the simple server (`simpleServer.models`).",
    ],
    [
      "an Ollama inside a chat UI that is not there",
      { simpleServer: { mode: "integrated" } },
      "chatUi: With `mode: integrated` the simple server runs inside the chat UI's container: declare the chat UI, with an image that contains Ollama (`...-ollama`).",
    ],
    [
      "a server with the name of another",
      { inferenceServers: { "instance-a": serverInput() } },
      "inferenceServers.instance-a: `instance-a` is the name of another server: take a different key.",
    ],
  ])("refuses %s", (_, machine, fault) => {
    expect(faultsOf(machine)).toEqual([fault]);
  });

  it("refuses a key in a settings file", () => {
    const environment = { ANTHROPIC_AUTH_TOKEN: "sk-real" };
    const [fault = "", ...more] = faultsOf({
      clients: { claudeCode: { via: "native", environment } },
    });
    expect(fault).toContain(
      "clients.claudeCode.environment: Don't put a key into a settings file: the launcher sets it.",
    );
    expect(fault).not.toContain("sk-real");
    expect(more).toEqual([]);
  });

  it("refuses the value of a key where its name is asked for, without showing it", () => {
    const [fault = ""] = faultsOf({ bridge: { ...BRIDGE, keyVariable: "sk-abc123" } });
    expect(fault).toContain("Expected the NAME of an environment variable");
    expect(fault).not.toContain("sk-abc123");
    const [ofA = ""] = faultsOf({
      instanceA: { gpuMemoryUtilization: 0.4, keyVariable: "sk-abc123" },
    });
    expect(ofA).toContain("Expected `none` or the NAME of an environment variable");
    expect(ofA).not.toContain("sk-abc123");
  });

  it("accepts a chat UI of instance A, which lists its models itself", () => {
    expect(faultsOf({ chatUi: { ...CHAT_UI, connections: ["b", "instance-a"] } })).toEqual([]);
  });

  it("names every fault at once", () => {
    expect(
      faultsOf({ clients: { codex: { server: "c" }, claudeCode: {}, pi: { server: "d" } } }),
    ).toHaveLength(3);
  });
});

describe("a bridge to servers of other machines", () => {
  const machines = (
    servers: string[],
    there: Record<string, unknown> = {},
    b: Record<string, unknown> = {},
  ) => ({
    dgx: {
      totalGiB: 121.63,
      instanceA: "none",
      inferenceServers: { b: serverInput() },
      bridge: { ...BRIDGE, servers },
    },
    dgx2: {
      totalGiB: 121.63,
      instanceA: "none",
      dockerHost: "ssh://me@dgx2.local",
      inferenceServers: { b: serverInput({ listen: "0.0.0.0", ...b }) },
      ...there,
    },
  });
  const bridged = (...given: Parameters<typeof machines>) =>
    plan(parseEngineConfig({ "local-serving:machines": JSON.stringify(machines(...given)) }), {
      home: "/home/me",
    });
  const faults = (...given: Parameters<typeof machines>) => faultLines(() => bridged(...given));
  const AT = "machines.dgx.bridge.servers.1: ";

  it.each<[string, Parameters<typeof machines>, string]>([
    ["the ssh host", [["b", "dgx2.b"]], "http://dgx2.local:8001/v1"],
    [
      "a declared name",
      [["b", "dgx2.b"], { clients: { host: "192.168.7.2" } }],
      "http://192.168.7.2:8001/v1",
    ],
  ])("reaches them by %s", (_, given, url) => {
    const { bridge } = bridged(...given).machines[0] ?? {};
    expect(bridge?.servers).toEqual(["b", "dgx2.b"]);
    expect(
      bridge?.models.filter(({ name }) => name === "model").map(({ baseUrl }) => baseUrl),
    ).toEqual(["http://vllm-model-8001:8001/v1", url]);
    expect(bridge?.names.filter((name) => name === "model")).toHaveLength(1);
  });

  it.each<[string, Parameters<typeof machines>, string]>([
    ["its own", [["b", "dgx.b"]], "dgx is this machine: write `b`."],
    ["unknown", [["b", "dgx3.c"]], "No server `c` on a machine `dgx3`. On other machines: dgx2.b."],
    [
      "one on loopback",
      [["b", "dgx2.b"], {}, { listen: "127.0.0.1" }],
      "`dgx2.b` listens on 127.0.0.1, which no other machine can reach: write `machines.dgx2.inferenceServers.b.listen` with the address by which dgx knows dgx2. vLLM asks for no key, so let a firewall admit dgx alone.",
    ],
    [
      "one without a name",
      [["b", "dgx2.b"], { dockerHost: "ssh://me@localhost:2222" }],
      "dgx needs a name or address of dgx2 to reach it: write one as `machines.dgx2.clients.host`.",
    ],
    [
      "one of another window",
      [["b", "dgx2.b"], {}, { maxModelLen: 65_536 }],
      "`dgx2.b` and `b` both serve `model`, but with context windows of 65536 and 262144 tokens: a session could not continue on the other server. Give both the same `maxModelLen`.",
    ],
  ])("is refused %s, with what to write", (_, given, message) => {
    expect(faults(...given)).toEqual([`${AT}${message}`]);
  });
});
