import { describe, expect, it } from "vitest";
import { plan } from "../../components/plan/plan";
import { machineOutputs } from "../../components/program/machine/machineOutputs";
import { loadStackFile } from "../../components/settings/load";
import { stack } from "../fixtures/machine";
import { ALL_CLIENTS, BRIDGE, CHAT_UI, HOME, planned } from "../fixtures/services";

const ALL = { bridge: BRIDGE, chatUi: CHAT_UI, clients: ALL_CLIENTS };
const warningsOf = (machine: Record<string, unknown>, server: Record<string, unknown> = {}) =>
  plan(stack({ ...ALL, ...machine }, server), { home: HOME }).warnings.filter((each) =>
    [
      "loopback-only",
      "first-sign-up",
      "client-window",
      "client-host",
      "native-system-turns",
    ].includes(each.code),
  );

describe("the services of the default stack", () => {
  const whole = plan(loadStackFile("Pulumi.dgx.yaml"), { home: HOME });
  const [machine] = whole.machines;

  it("are a bridge and a chat UI by the published digests", () => {
    expect(machine?.containers.map(({ role, image }) => [role, image])).toEqual([
      [
        "inference-server",
        "vllm/vllm-openai:v0.30.0@sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90",
      ],
      [
        "bridge",
        "ghcr.io/berriai/litellm:v1.103.0@sha256:bd089afdcd35b894b14a93f9743cdc8b591f82da1a38dd43a010a7b0c9de5fd7",
      ],
      [
        "chat-ui",
        "ghcr.io/open-webui/open-webui:v0.11.3@sha256:41daa0cf2561a5d4c8d1ff31ee2a98d93ab4d3ac2605cac69366ff6a3374a933",
      ],
    ]);
  });

  it("take memory of their own in the ledger, as defaults", () => {
    const line = (name: string) => machine?.ledger.lines.find((each) => each.name === name);
    expect(line("chat UI")).toMatchObject({ gib: 1.2, basis: "default" });
    expect(line("bridge")).toMatchObject({ gib: 0.42, basis: "default" });
    // 111.34 for two servers with overshoot, 1.62 for the services, 4 for the operating system.
    expect(machine?.ledger.sumGiB).toBe(116.96);
  });

  it("are reached on 8787 without /v1 and on 8080", () => {
    expect(machine?.endpoints).toContainEqual({
      key: "bridge",
      name: "litellm-8787",
      url: "http://127.0.0.1:8787",
    });
    expect(machine?.endpoints).toContainEqual({
      key: "chat-ui",
      name: "open-webui-8080",
      url: "http://127.0.0.1:8080",
    });
  });

  it("write these files and no others", () => {
    const ours = machine?.files.filter(({ role }) =>
      /^(bridge|claude|codex|client|launcher)/.test(role),
    );
    expect(ours?.map(({ role, path, mode }) => `${mode} ${role} ${path}`)).toEqual([
      "0644 bridge-config /home/me/.local/share/local-serving/dgx/bridge/config.yaml",
      "0644 claude-code-settings /home/me/.local/share/local-serving/clients/claude-code.settings.json",
      "0755 launcher-claude-code /home/me/.local/bin/local-claude",
      "0644 codex-config /home/me/.codex/local-serving.config.toml",
      "0755 launcher-codex /home/me/.local/bin/local-codex",
      "0644 client-env /home/me/.local/share/local-serving/clients/client.env",
      "0755 launcher-client-env /home/me/.local/bin/local-env",
    ]);
  });

  it("name their coding clients to the server that they use", () => {
    expect(machine?.inferenceServers[0]?.codingClients).toEqual(["claude-code", "codex"]);
  });

  it("say in the stack's outputs how each client is started", () => {
    expect(machineOutputs(whole).clients).toEqual({
      dgx: {
        "claude-code": "/home/me/.local/bin/local-claude",
        codex: "/home/me/.local/bin/local-codex",
        "client-env": "/home/me/.local/bin/local-env",
      },
    });
  });
});

describe("a single switch", () => {
  const before = planned();
  /** What differs between two plans: files by role, containers by resource. */
  const changed = (machine: Record<string, unknown>, server: Record<string, unknown> = {}) => {
    const after = planned(machine, server);
    const differing = <T>(name: (each: T) => string, a: readonly T[], b: readonly T[]) => {
      const names = new Set([...a, ...b].map(name));
      const textOf = (list: readonly T[], wanted: string) =>
        JSON.stringify(list.find((each) => name(each) === wanted));
      return [...names].filter((each) => textOf(a, each) !== textOf(b, each));
    };
    // The applied plan is a copy of all of it.
    const own = (files: typeof before.files) =>
      files.filter((file) => file.role !== "applied-plan");
    return [
      ...differing((file) => file.role, own(before.files), own(after.files)),
      ...differing((file) => file.role, before.secretFiles, after.secretFiles),
      ...differing((container) => container.resource, before.containers, after.containers),
    ].sort();
  };

  it.each<[string, Record<string, unknown>, string[]]>([
    ["nothing", {}, []],
    [
      "a client off",
      { clients: { ...ALL_CLIENTS, codex: undefined } },
      ["codex-config", "launcher-codex"],
    ],
    [
      "Claude Code native instead of bridged",
      { clients: { ...ALL_CLIENTS, claudeCode: { via: "native" } } },
      ["claude-code-settings", "launcher-claude-code"],
    ],
    [
      "messages passed through",
      { bridge: { ...BRIDGE, messagesPath: "passThrough" } },
      ["bridge-config", "dgx-bridge"],
    ],
    [
      "a chat UI connection",
      { chatUi: { ...CHAT_UI, connections: ["b", "instance-a"] } },
      ["dgx-chat-ui"],
    ],
    [
      "a key for the bridge",
      { bridge: { ...BRIDGE, keyVariable: "BRIDGE_KEY" } },
      ["bridge-config", "bridge-key", "claude-code-settings", "dgx-bridge", "launcher-claude-code"],
    ],
    ["the bridge's measured memory", { bridge: { ...BRIDGE, memoryGiB: 0.5 } }, []],
  ])("changes for %s exactly its own", (_, machine, expected) => {
    expect(changed(machine)).toEqual(expected);
  });
});

describe("warnings of services", () => {
  it("are none for the fixture", () => {
    expect(warningsOf({})).toEqual([]);
  });

  it("say that a container can't reach what listens on loopback only", () => {
    const instanceA = { gpuMemoryUtilization: 0.4, listen: "127.0.0.1" };
    const chatUi = { ...CHAT_UI, connections: ["instance-a"] };
    const [warning, ...more] = warningsOf({ instanceA, chatUi });
    expect(warning?.code).toBe("loopback-only");
    expect(warning?.message).toBe(
      "open-webui-8080 can't reach instance-a on 127.0.0.1. Start it with `--host 172.17.0.1`, the address of Docker's own bridge (`ip -4 address show docker0`), and write `instanceA.listen: 172.17.0.1`.",
    );
    expect(more).toEqual([]);
    expect(warningsOf({ instanceA })).toEqual([]);
    const advised = { ...instanceA, listen: "172.17.0.1" };
    expect(warningsOf({ instanceA: advised, chatUi })).toEqual([]);
  });

  it("open an Ollama that a container asks for to containers alone", () => {
    const chatUi = { ...CHAT_UI, connections: ["b", "simple-server"] };
    const [warning, ...more] = warningsOf({ chatUi, simpleServer: { mode: "host" } });
    expect(warning?.message).toBe(
      "open-webui-8080 can't reach simple-server on 127.0.0.1. Write `simpleServer.listen: 172.17.0.1`, the address of Docker's own bridge (`ip -4 address show docker0`).",
    );
    expect(more).toEqual([]);
    const simpleServer = { mode: "host", listen: "172.17.0.1" };
    expect(warningsOf({ chatUi, simpleServer })).toEqual([]);
  });

  it("say that the first to sign up on an open chat UI owns it", () => {
    expect(
      warningsOf({ chatUi: { ...CHAT_UI, listen: "0.0.0.0" } }).map((each) => each.code),
    ).toEqual(["first-sign-up"]);
    const administrator = { emailVariable: "CHAT_EMAIL", passwordVariable: "CHAT_PASSWORD" };
    expect(warningsOf({ chatUi: { ...CHAT_UI, listen: "0.0.0.0", administrator } })).toEqual([]);
  });

  it("say that a window is too small for an agent", () => {
    const clients = { claudeCode: { via: "native" } };
    const tolerant = { maxModelLen: 65536, chatTemplate: "tolerant" };
    const [warning] = warningsOf({ clients }, tolerant);
    expect(warning?.message).toBe(
      "claude-code: 33536 tokens are left for the prompt, 40,000 are needed. Lower `maxOutputTokens` or raise `maxModelLen`: 32000 of 65536 tokens are for output, and an agent's own instructions take 30,000 to 40,000.",
    );
    expect(
      warningsOf({ clients: { claudeCode: { via: "native", maxOutputTokens: 8000 } } }, tolerant),
    ).toEqual([]);
  });

  it("say that a messages-style client loses its prefix natively, and what keeps it", () => {
    const clients = { claudeCode: { via: "native" } };
    const [warning, ...more] = warningsOf({ clients });
    expect(more).toEqual([]);
    expect(warning).toEqual({
      machine: "dgx",
      code: "native-system-turns",
      message:
        "claude-code before 2.1.329 finds little of its last prompt again. It puts system messages into messages[]; later versions don't, by the file that we write. If the model's template requires it, vLLM moves them to the beginning of the prompt. The next turn then reuses 6 % of the last prompt from the cache; through the bridge it reuses 90 % or more. Use a later version, or write `inferenceServers.b.chatTemplate: tolerant` or `via: bridge`.",
    });
    expect(warningsOf({ clients }, { chatTemplate: "tolerant" })).toEqual([]);
    expect(warningsOf({ clients: { claudeCode: { via: "bridge" } } })).toEqual([]);
    expect(warningsOf({ clients: { codex: { via: "native" } } })).toEqual([]);
  });

  it("say that clients elsewhere can't reach loopback", () => {
    const clients = { host: "dgx.local", codex: {} };
    expect(warningsOf({ clients }).map(({ code, message }) => [code, message])).toEqual([
      [
        "client-host",
        "codex talks to `b` directly, which listens only on 127.0.0.1: no other computer can reach it. Write `clients.codex.via: bridge`. Or remove `clients.host`.",
      ],
      [
        "client-host",
        "The bridge listens only on 127.0.0.1: no other computer can reach it. Write `bridge.listen: 0.0.0.0`, and `bridge.keyVariable: LOCAL_SERVING_BRIDGE_KEY`, the NAME of the variable of your shell with its key. Or remove `clients.host`.",
      ],
    ]);
    const bridge = { ...BRIDGE, listen: "0.0.0.0", keyVariable: "BRIDGE_KEY" };
    const advised = { bridge, clients: { ...clients, codex: { via: "bridge" } } };
    expect(warningsOf(advised)).toEqual([]);
    expect(planned(advised).clients[0]?.baseUrl).toBe("http://dgx.local:8787/v1");
    expect(warningsOf({ clients }, { listen: "0.0.0.0" })).toEqual([]);
    const url = planned({ clients }, { listen: "0.0.0.0" }).clients[0]?.baseUrl;
    expect(url).toBe("http://dgx.local:8001/v1");
  });
});

describe("secrets", () => {
  it("are in a plan by name only", () => {
    process.env.BRIDGE_KEY = "s3cret-value";
    const text = JSON.stringify(
      planned({ bridge: { ...BRIDGE, listen: "0.0.0.0", keyVariable: "BRIDGE_KEY" } }),
    );
    delete process.env.BRIDGE_KEY;
    expect(text).not.toContain("s3cret-value");
    expect(text).toContain("BRIDGE_KEY");
  });
});
