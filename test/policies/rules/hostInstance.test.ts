import { describe, expect, it } from "vitest";
import { plan } from "../../../components/plan/plan";
import { TYPE } from "../../../components/planned/type";
import { declaredResources } from "../../../components/program/machine/declaredResources";
import { judge } from "../../../policies/judge";
import { serverInput, stack } from "../../fixtures/machine";
import { BRIDGE, HOME } from "../../fixtures/services";
import { declared, said, UNKNOWN_LIST, UNKNOWN_TEXT, verdictsOf } from "../declared";

type Settings = Record<string, unknown>;

const KEY = "LOCAL_SERVING_INSTANCE_A_KEY";
const AT_A = { server: "instance-a" };
const BEHIND = { ...BRIDGE, servers: ["b", "instance-a"] };
const A = { gpuMemoryUtilization: 0.45, servedModelName: "old" };

const planned = (clients: Settings, instanceA: Settings = {}) =>
  plan(stack({ bridge: BEHIND, clients, instanceA: { ...A, ...instanceA } }), { home: HOME });
const ours = (...given: Parameters<typeof planned>) => declaredResources(planned(...given));
/** The names of the rules that refuse clients at this instance A. */
const refusing = (...given: Parameters<typeof planned>) =>
  judge(ours(...given))
    .filter(({ verdict }) => verdict === "refused")
    .map(({ name }) => name);

describe("a coding client at instance A", () => {
  it("is accepted where all is declared well, and where nothing is declared", () => {
    const clients = { codex: AT_A, claudeCode: AT_A };
    expect(refusing(clients, { toolParser: "hermes", keyVariable: "none" })).toEqual([]);
    expect(refusing(clients)).toEqual([]);
  });

  it("is refused without a tool parser; the advice plans without a refusal", () => {
    const bad = { toolParser: "none" };
    expect(said("tool-calling", ours({ codex: AT_A }, bad))).toEqual([
      "refused: codex on dgx would use instance A, which makes no tool calls (`toolParser: none`). Restart it yourself with `--enable-auto-tool-choice --tool-call-parser <parser>` and declare that parser, or point the client at another server (`clients.codex.server`). In the stack file: `machines.dgx.clients.codex.server`.",
    ]);
    expect(refusing({ codex: AT_A, claudeCode: AT_A }, bad)).toEqual([
      "tool-calling",
      "tool-calling",
    ]);
    expect(refusing({ codex: AT_A }, { toolParser: "hermes" })).toEqual([]);
    expect(refusing({ codex: { server: "b" } }, bad)).toEqual([]);
  });

  it("is refused for a name with a slash; the advice plans without a refusal", () => {
    const slash = { servedModelName: "org/Old.Model" };
    expect(said("served-model-name", ours({ codex: AT_A }, slash))).toEqual([
      "refused: codex on dgx would ask instance A for `org/Old.Model`, which has a slash. If instance A also serves a name without one, declare that (`instanceA.servedModelName`). Otherwise restart it yourself with `--served-model-name old.model org/Old.Model` and declare `old.model`, or point the client at another server (`clients.codex.server`). Coding clients can't address such a name. In the stack file: `machines.dgx.clients.codex.server`.",
    ]);
    // Six variables ask for one name.
    expect(refusing({ claudeCode: AT_A }, slash)).toEqual(["served-model-name"]);
    expect(refusing({ codex: { ...AT_A, model: "org/old" } })).toContain("served-model-name");
    expect(refusing({ codex: AT_A }, { servedModelName: "old.model" })).toEqual([]);
    expect(refusing({ codex: { server: "b" } }, slash)).toEqual([]);
  });

  it("is refused behind a bridge that lacks the key; the setting that it names mends it", () => {
    const keyed = { keyVariable: KEY };
    expect(verdictsOf("client-server", ours({ claudeCode: AT_A }, keyed))).toMatchObject([
      {
        verdict: "refused",
        message:
          "claude-code on dgx asks A by the bridge, which doesn't have A's key. Write `clients.claudeCode.via: native` " +
          `(\`instanceA.keyVariable: ${KEY}\`), or point the client at another server (\`clients.claudeCode.server\`). ` +
          "In the stack file: `machines.dgx.clients.claudeCode.via: native`.",
        path: "machines.dgx.clients.claudeCode.via",
        value: "native",
      },
    ]);
    expect(refusing({ claudeCode: { ...AT_A, via: "native" } }, keyed)).toEqual([]);
    expect(refusing({ claudeCode: { server: "b" } }, keyed)).toEqual([]);
    expect(refusing({ claudeCode: AT_A }, { keyVariable: "none" })).toEqual([]);
  });

  it("may be any other program, which calls no tools", () => {
    const worst = { servedModelName: "org/old", toolParser: "none", keyVariable: KEY };
    expect(refusing({ clientEnv: AT_A }, worst)).toEqual([]);
  });

  it("is named as the program names it; what is not known is not refused", () => {
    const machine = (props: Settings) =>
      declared(TYPE.machine, "dgx", { machine: "dgx", ...props });
    const agent = { client: "agent", coding: true, server: "instance-a", tiers: { model: "m" } };
    const atB = { ...agent, server: "b", serverKind: "inference-server" };
    const none = { hostInstance: { toolParser: "none" } };
    expect(said("tool-calling", [machine({ clients: [agent], ...none })]).join()).toMatch(
      /^refused: agent on dgx would use .*\(`clients\.agent\.server`\)/,
    );
    const unnamed = { ...agent, client: UNKNOWN_TEXT, tiers: { a: "org/m", b: UNKNOWN_TEXT } };
    expect(said("served-model-name", [machine({ clients: [unnamed] })])).toEqual([
      expect.stringMatching(/^refused: a client on dgx would ask instance A for `org\/m`/),
    ]);
    const other = declared(TYPE.machine, "dgx2", { machine: "dgx2", clients: [] });
    expect(said("tool-calling", [other])).toEqual([]);
    for (const props of [
      { clients: UNKNOWN_LIST, ...none },
      { clients: [{ ...agent, coding: false }], ...none },
      { clients: [{ ...agent, server: UNKNOWN_TEXT }], ...none },
      { clients: [agent], hostInstance: UNKNOWN_TEXT },
      { clients: [agent], hostInstance: { toolParser: UNKNOWN_TEXT, keyVariable: UNKNOWN_TEXT } },
      { clients: [{ ...agent, via: "bridge", tiers: UNKNOWN_TEXT }], hostInstance: {} },
      { clients: [{ ...atB, tiers: { a: "org/m" }, names: [UNKNOWN_TEXT, "org/m"] }] },
    ])
      for (const rule of ["tool-calling", "served-model-name", "client-server"])
        expect(said(rule, [machine(props)]), rule).toEqual([]);
  });
});

describe("a coding client that asks for an alias with a slash", () => {
  const at = (key: string, settings: Settings, machine: Settings = {}, server: Settings = {}) =>
    declaredResources(
      plan(stack({ bridge: BRIDGE, clients: { [key]: settings }, ...machine }, server), {
        home: HOME,
      }),
    );
  const slashed = (...given: Parameters<typeof at>) => said("served-model-name", at(...given));
  const message = (who: string, model: string, plain: string, setting: string) =>
    `refused: ${who} on dgx would ask for \`${model}\`, which has a slash. Ask for \`${plain}\`, which the same server answers to: coding clients can't address a slash. In the stack file: \`machines.dgx.clients.${setting}: ${plain}\`.`;

  it.each([
    ["codex", "codex"],
    ["claudeCode", "claude-code"],
    ["opencode", "opencode"],
    ["pi", "pi"],
    ["qwenCode", "qwen-code"],
    ["crush", "crush"],
  ])("is refused, and the name to write is accepted: %s", (key, who) => {
    for (const via of ["native", "bridge"]) {
      expect(slashed(key, { via, model: "org/model" })).toEqual([
        message(who, "org/model", "model", `${key}.model`),
      ]);
      expect(slashed(key, { via, model: "model" })).toEqual([]);
      expect(slashed(key, { via })).toEqual([]);
    }
  });

  it.each([
    "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_MODEL",
    "ANTHROPIC_CUSTOM_MODEL_OPTION",
    "CLAUDE_CODE_SUBAGENT_MODEL",
    "CLAUDE_CODE_AUTO_MODE_MODEL",
    "OPENAI_MODEL",
  ])("is refused in %s", (variable) => {
    const asking = (model: string) => ({ environment: { [variable]: model } });
    expect(slashed("claudeCode", asking("org/model"))).toEqual([
      message("claude-code", "org/model", "model", `claudeCode.environment.${variable}`),
    ]);
    expect(slashed("claudeCode", asking("model"))).toEqual([]);
  });

  it("may name what is no model of ours, and is no coding client", () => {
    const environment = { EMBEDDING_MODEL: "BAAI/bge-m3", ANTHROPIC_MODEL_NAME: "a/b" };
    expect(slashed("claudeCode", { environment })).toEqual([]);
    expect(slashed("clientEnv", { model: "org/model" })).toEqual([]);
  });

  it("is told the name of the server that the bridge sends it to", () => {
    const inferenceServers = {
      b: serverInput({ gpuMemoryUtilization: 0.2 }),
      c: serverInput({
        model: { id: "org/other", family: "qwen3" },
        servedModelName: "other",
        port: 8002,
        gpuMemoryUtilization: 0.2,
      }),
    };
    expect(
      slashed("claudeCode", { server: "b", model: "org/other" }, { inferenceServers }),
    ).toEqual([message("claude-code", "org/other", "other", "claudeCode.model")]);
  });

  it("is left to the server whose own name it is", () => {
    const said = slashed("codex", {}, {}, { servedModelName: "org/x", aliases: [] });
    expect(said).toHaveLength(1);
    expect(said[0]).toContain("serves its model as `org/x`");
  });

  it("is told the name that is declared of instance A", () => {
    expect(slashed("codex", { ...AT_A, model: "org/old" }, { instanceA: A })).toEqual([
      message("codex", "org/old", "old", "codex.model"),
    ]);
  });

  it("is told how a model of Ollama gets another name", () => {
    const model = "hf.co/org/m:q4";
    const simpleServer = {
      mode: "host",
      models: [model],
      toolCalls: { [model]: "seen 2026-11-21" },
    };
    expect(slashed("codex", { server: "simple-server" }, { simpleServer })).toEqual([
      "refused: codex on dgx would ask for `hf.co/org/m:q4`, which has a slash. Give the model a name without one (`ollama cp hf.co/org/m:q4 m:q4`), declare `m:q4` in `simpleServer.models` and test it (`serving verify --record`), or point the client at another server (`clients.codex.server`). Coding clients can't address such a name. In the stack file: `machines.dgx.clients.codex.server`.",
    ]);
    const plain = {
      mode: "host",
      models: ["qwen3:8b"],
      toolCalls: { "qwen3:8b": "seen 2026-11-21" },
    };
    expect(slashed("codex", { server: "simple-server" }, { simpleServer: plain })).toEqual([]);
  });
});

describe("the plan of a coding client at instance A", () => {
  const warned = (...given: Parameters<typeof planned>) =>
    planned(...given).warnings.filter(({ code }) => code === "instance-a-unknown");

  it("says what is not known of it, and nothing where all is declared or nobody asks", () => {
    const READS = "`serving verify a` says what to declare.";
    expect(warned({ codex: AT_A, claudeCode: AT_A })).toEqual([
      {
        machine: "dgx",
        code: "instance-a-unknown",
        message: `It is not known whether claude-code, codex can use instance A. The stack file doesn't say whether it makes structured tool calls (\`instanceA.toolParser\`) and whether it asks for a key (\`instanceA.keyVariable\`). ${READS}`,
      },
    ]);
    expect(warned({ codex: AT_A }, { toolParser: "none" }).map(({ message }) => message)).toEqual([
      `It is not known whether codex can use instance A. The stack file doesn't say whether it asks for a key (\`instanceA.keyVariable\`). ${READS}`,
    ]);
    expect(warned({ codex: AT_A }, { toolParser: "hermes", keyVariable: "none" })).toEqual([]);
    expect(warned({ codex: { server: "b" }, clientEnv: AT_A })).toEqual([]);
  });
});
