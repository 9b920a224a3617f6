import { describe, expect, it } from "vitest";
import { parse, parseDocument, stringify } from "yaml";
import { plan } from "../../components/plan/plan";
import { declaredResources } from "../../components/program/machine/declaredResources";
import { parseStackFile } from "../../components/settings/load";
import { placeOf } from "../../components/settings/places";
import { judge } from "../../policies/judge";
import { serverInput } from "../fixtures/machine";
import { CHAT_UI } from "../fixtures/services";

type Settings = Record<string, unknown>;

/**
 * The findings of a stack of one machine with an instance A and a server, and the stack file's
 * lines.
 */
function judged(server: Settings, machine: Settings = {}, share = 0.45) {
  const dgx = {
    totalGiB: 121.63,
    instanceA: { gpuMemoryUtilization: share },
    inferenceServers: { b: serverInput(server) },
    ...machine,
  };
  const text = stringify({ config: { "local-serving:machines": { dgx } } }, { lineWidth: 0 });
  return { text, findings: judgedText(text) };
}

function judgedText(text: string) {
  const settings = parseStackFile("Pulumi.dgx.yaml", text);
  const resources = declaredResources(plan(settings, { home: "/home/me" }));
  const findings = judge(resources, {}, (path) => placeOf(settings, path));
  expect(findings.filter(({ verdict, path }) => verdict === "pass" && path !== undefined)).toEqual(
    [],
  );
  return findings;
}

/**
 * What is refused of a server on a machine with an instance A, and the line of the stack file that
 * it names.
 */
function refused(server: Settings, share?: number) {
  const { text, findings } = judged(server, {}, share);
  return findings
    .filter(({ verdict }) => verdict === "refused")
    .map(({ name, path, line, value, message }) => ({
      found: [name, path, value],
      line: text.split("\n")[(line ?? 0) - 1]?.trim(),
      says: message.slice(message.lastIndexOf(" In the stack file")).replace(/line \d+/, "line N"),
    }));
}

const B = "machines.dgx.inferenceServers.b";

describe("a refusal", () => {
  it("has one blank between its sentences where no server of ours can give way", () => {
    const alone = { inferenceServers: {}, operatingSystemGiB: 20, chatUi: CHAT_UI };
    const said = judged({}, alone, 0.99).findings.filter(({ verdict }) => verdict === "refused");
    expect(said.map(({ name }) => name)).toEqual(["aggregate-utilization", "memory-sum"]);
    expect(said.filter(({ message }) => message.includes("  "))).toEqual([]);
  });

  it("says path, line and new value of the stack file beside the flag", () => {
    const says = ` In the stack file, line N: \`${B}.gpuMemoryUtilization: 0.3\`.`;
    const found = [`${B}.gpuMemoryUtilization`, 0.3] as const;
    const line = "gpuMemoryUtilization: 0.6";
    expect(refused({ gpuMemoryUtilization: 0.6 }, 0.6)).toEqual([
      { found: ["aggregate-utilization", ...found], line, says },
      { found: ["memory-sum", ...found], line, says },
    ]);
    expect(refused({ gpuMemoryUtilization: 0.3 }, 0.6)).toEqual([]);
  });

  it("of a server that can't start says the share with which it can", () => {
    const model = { id: "org/model", family: "qwen3", weightsGB: 40 };
    expect(refused({ model, gpuMemoryUtilization: 0.2 })).toEqual([
      {
        found: ["server-starts", `${B}.gpuMemoryUtilization`, 0.31],
        line: "gpuMemoryUtilization: 0.2",
        says: ` In the stack file, line N: \`${B}.gpuMemoryUtilization: 0.31\`.`,
      },
    ]);
    expect(refused({ model, gpuMemoryUtilization: 0.31 })).toEqual([]);
  });

  it("of an unknown name says the nearest", () => {
    const tools = { tools: { parser: "qwen3_codr" } };
    expect(refused(tools)).toEqual([
      {
        found: ["engine-names", `${B}.tools.parser`, "qwen3_coder"],
        line: "parser: qwen3_codr",
        says: ` In the stack file, line N: \`${B}.tools.parser: qwen3_coder\`.`,
      },
    ]);
    expect(refused({ tools: { parser: "qwen3_coder" } })).toEqual([]);
  });

  it("names no setting where none would help", () => {
    const tight = refused(
      { model: { id: "org/model", family: "qwen3", weightsGB: 80 }, gpuMemoryUtilization: 0.7 },
      0.6,
    );
    expect(tight.map(({ found }) => found)).toEqual([
      ["aggregate-utilization", undefined, undefined],
      ["memory-sum", undefined, undefined],
    ]);
  });
});

/** A rule, what it finds on which server and machine, and the setting and value that it names. */
type Row = readonly [
  rule: string,
  server: Settings,
  machine: Settings,
  path: string,
  value: string | number | boolean | undefined,
];

const GIB = 1024 ** 3;
const weighs = (weightsGB: number, more: Settings = {}) => ({
  model: { id: "org/model", family: "qwen3", weightsGB, ...more },
});
const mtpp = { speculative: { method: "mtpp", numSpeculativeTokens: 2 } };
const other = { model: { id: "org/model", family: "other" } };
const clients = { clients: { codex: {} } };
const UI = { chatUi: { ...CHAT_UI, port: 8001 } };

/** A chat UI on the port at which the host's Ollama listens, on that address. */
function onOllamasPort(listen: string): Settings {
  return { simpleServer: { mode: "host", listen }, chatUi: { ...CHAT_UI, port: 11434 } };
}

const WITH_VALUE: readonly Row[] = [
  ["aggregate-utilization", { gpuMemoryUtilization: 0.5 }, {}, "b.gpuMemoryUtilization", 0.45],
  [
    "aggregate-utilization",
    { ...weighs(40), kvCacheMemoryBytes: 40 * GIB },
    {},
    "b.kvCacheMemoryBytes",
    18758269665,
  ],
  ["memory-sum", {}, { operatingSystemGiB: 20 }, "b.gpuMemoryUtilization", 0.35],
  ["memory-sum", { extraArgs: ["--cpu-offload-gb", "30"] }, {}, "b.gpuMemoryUtilization", 0.2],
  [
    "server-starts",
    { ...weighs(50), gpuMemoryUtilization: 0.3 },
    {},
    "b.gpuMemoryUtilization",
    0.39,
  ],
  [
    "server-starts",
    { ...weighs(20), maxNumBatchedTokens: 3, maxNumSeqs: 4 },
    {},
    "b.maxNumSeqs",
    3,
  ],
  ["server-starts", { ...weighs(20), chunkedPrefill: false }, {}, "b.chunkedPrefill", true],
  ["served-model-name", { servedModelName: "org/Model-X" }, {}, "b.servedModelName", "model-x"],
  // A name that YAML reads as a number is written in quotes.
  ["served-model-name", { servedModelName: "qwen/3.6" }, {}, "b.servedModelName", "3.6"],
  ["host-ports", { port: 8000 }, {}, "b.port", 8001],
  ["host-ports", {}, UI, "chatUi.port", 8002],
  ["host-ports", {}, onOllamasPort("127.0.0.1"), "chatUi.port", 8002],
  ["host-ports", {}, onOllamasPort("0.0.0.0"), "chatUi.port", 8002],
  [
    "reasoning-parser",
    { ...weighs(20), reasoningParser: "qwen3" },
    {},
    "b.reasoningParser",
    "auto",
  ],
  ["engine-names", { tools: { parser: "qwen3_codr" } }, {}, "b.tools.parser", "qwen3_coder"],
  [
    "engine-names",
    { ...weighs(20, { thinking: true }), reasoningParser: "qwen33" },
    {},
    "b.reasoningParser",
    "qwen3",
  ],
  ["engine-names", { kvCacheDtype: "fp88" }, {}, "b.kvCacheDtype", "fp8"],
  ["engine-names", { attentionBackend: "FLASHINFR" }, {}, "b.attentionBackend", "FLASHINFER"],
  ["engine-names", { moeBackend: "marln" }, {}, "b.moeBackend", "marlin"],
  ["engine-names", { loadFormat: "fastsafetensor" }, {}, "b.loadFormat", "fastsafetensors"],
  ["engine-names", mtpp, {}, "b.speculative.method", "mtp"],
  [
    "tool-calling",
    { ...other, tools: { autoChoice: false, parser: "qwen3_coder" } },
    clients,
    "b.tools.autoChoice",
    true,
  ],
  ["lan-exposure", { listen: "0.0.0.0" }, {}, "b.listen", "127.0.0.1"],
  [
    "simple-server-place",
    {},
    { simpleServer: { mode: "integrated" }, chatUi: CHAT_UI },
    "simpleServer.mode",
    "host",
  ],
];

const WITHOUT_VALUE: readonly Row[] = [
  ["inference-image", { image: "vllm/vllm-openai:v0.30.0" }, {}, "b.image", undefined],
  [
    "moving-tag",
    {},
    { chatUi: { image: "ghcr.io/open-webui/open-webui:main" } },
    "chatUi.image",
    undefined,
  ],
  [
    "deny-list",
    {},
    { bridge: { image: "ghcr.io/berriai/litellm:v1.82.7" } },
    "bridge.image",
    undefined,
  ],
  [
    "deny-list",
    { environment: { VLLM_SERVER_DEV_MODE: "1" } },
    {},
    "b.environment.VLLM_SERVER_DEV_MODE",
    undefined,
  ],
  ["tool-calling", other, {}, "b.tools.parser", undefined],
  ["engine-names", { extraArgs: ["--swap-space", "4"] }, {}, "b.extraArgs", undefined],
];

describe("the setting that a finding names", () => {
  const pathOf = (path: string) => `machines.dgx.${path.replace(/^b\./, "inferenceServers.b.")}`;
  const named = (rule: string, findings: ReturnType<typeof judgedText>) =>
    findings.filter(({ name, verdict }) => name === rule && verdict !== "pass");

  it.each(WITH_VALUE)(
    "by %s for %j on %j, written as it says, passes",
    (rule, server, machine, path, value) => {
      const { text, findings } = judged(server, machine);
      const [found] = named(rule, findings);
      expect([found?.path, found?.value]).toEqual([pathOf(path), value]);
      const [, written = ""] = /: `([^`]+)`\.$/.exec(found?.message ?? "") ?? [];
      expect(parse(written)).toEqual(
        value === undefined ? pathOf(path) : { [pathOf(path)]: value },
      );
      const document = parseDocument(text);
      document.setIn(
        ["config", "local-serving:machines", ...pathOf(path).split(".").slice(1)],
        value,
      );
      expect(named(rule, judgedText(document.toString())).map(({ message }) => message)).toEqual(
        [],
      );
    },
  );

  it("is none where the simple server listens on that port of another address, or elsewhere", () => {
    const ui = { ...CHAT_UI, port: 11434 };
    for (const simpleServer of [{ mode: "host", listen: "172.17.0.1" }, { mode: "none" }])
      expect(named("host-ports", judged({}, { simpleServer, chatUi: ui }).findings)).toEqual([]);
  });

  it.each(WITHOUT_VALUE)(
    "by %s for %j on %j has its line, and no value where none is known",
    (rule, server, machine, path) => {
      const { text, findings } = judged(server, machine);
      const [found] = named(rule, findings);
      expect(found).not.toHaveProperty("value");
      expect(found?.message).toMatch(
        new RegExp(` In the stack file, line \\d+: \`${pathOf(path)}\`\\.$`),
      );
      const key = path.split(".").at(-1) ?? "";
      const line = text.split("\n")[(found?.line ?? 0) - 1] ?? "";
      expect(key === "parser" || line.trim().startsWith(`${key}:`)).toBe(true);
    },
  );

  it("is of the machine that the finding is about, where two have servers of one name", () => {
    const one = { totalGiB: 121.63, instanceA: "none", inferenceServers: { b: serverInput() } };
    const two = {
      ...one,
      dockerHost: "ssh://me@two",
      inferenceServers: { c: serverInput({ servedModelName: "a/b" }) },
    };
    const three = { ...one, dockerHost: "ssh://me@three", inferenceServers: { d: serverInput() } };
    const text = stringify(
      { config: { "local-serving:machines": { one, two, three } } },
      { lineWidth: 0 },
    );
    expect(named("served-model-name", judgedText(text)).map(({ path }) => path)).toEqual([
      "machines.two.inferenceServers.c.servedModelName",
    ]);
    const more = text.replaceAll("gpuMemoryUtilization: 0.45", "gpuMemoryUtilization: 0.95");
    expect(named("aggregate-utilization", judgedText(more)).map(({ path }) => path)).toEqual(
      ["one.inferenceServers.b", "two.inferenceServers.c", "three.inferenceServers.d"].map(
        (each) => `machines.${each}.gpuMemoryUtilization`,
      ),
    );
  });
});
