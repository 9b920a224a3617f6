import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parseDocument } from "yaml";
import { headline, sentences } from "../../cli/plan/screen/headline";
import { readModels } from "../../components/evidence/readModels";
import { plan } from "../../components/plan/plan";
import { declaredResources } from "../../components/program/machine/declaredResources";
import { parseStackFile } from "../../components/settings/load";
import { judge } from "../../policies/judge";

/** So many columns are left of a line of plan beside its mark, with names as short as the sample's. */
const COLUMNS = 70;

const SAMPLE = readFileSync("Pulumi.dgx.yaml", "utf8");
const B = "inferenceServers.b";
const OLD = "vllm/vllm-openai:v0.7.2";

/** Settings of the sample's machine, each with what it is changed to; `null` takes it away. */
const EDITS: readonly (readonly (readonly [path: string, value: unknown])[])[] = [
  [],
  [[`${B}.gpuMemoryUtilization`, 0.5]],
  [
    [`${B}.gpuMemoryUtilization`, 0.95],
    ["instanceA", "none"],
  ],
  [["instanceA.gpuMemoryUtilization", 0.85]],
  [["operatingSystemGiB", 20]],
  [["operatingSystemGiB", 9]],
  [[`${B}.gpuMemoryUtilization`, 0.2]],
  [[`${B}.gpuMemoryUtilization`, 0.24]],
  [[`${B}.model.weightsGB`, 80]],
  [[`${B}.model`, { id: "org/model-400b" }]],
  [[`${B}.model`, { id: "org/model" }]],
  [[`${B}.model.id`, "Qwen/Qwen3-Embedding-8B"]],
  [[`${B}.maxModelLen`, 1048576]],
  [
    [`${B}.maxNumSeqs`, 64],
    [`${B}.maxNumBatchedTokens`, 32],
  ],
  [[`${B}.chunkedPrefill`, false]],
  [[`${B}.image`, "vllm/vllm-openai:v0.30.0"]],
  [
    [`${B}.image`, "vllm/vllm-openai:nightly"],
    [`${B}.versions`, null],
  ],
  [
    [`${B}.image`, OLD],
    [`${B}.versions`, null],
  ],
  [
    [`${B}.image`, "ollama/ollama:0.17.6"],
    [`${B}.versions`, null],
  ],
  [
    [`${B}.image`, "org/other:1.0"],
    [`${B}.versions`, null],
  ],
  [[`${B}.versions.transformers`, "4.57.0"]],
  [[`${B}.versions.digest`, null]],
  [["bridge.image", "ghcr.io/berriai/litellm:v1.82.7"]],
  [["chatUi.image", "ghcr.io/open-webui/open-webui:main"]],
  [[`${B}.port`, 8000]],
  [[`${B}.port`, 11434]],
  [["chatUi.port", 8001]],
  [[`${B}.listen`, "0.0.0.0"]],
  [["chatUi.listen", "0.0.0.0"]],
  [[`${B}.servedModelName`, "qwen/qwen3.6"]],
  [[`${B}.tools`, { autoChoice: false }]],
  [[`${B}.tools.parser`, "qwen3_codr"]],
  [[`${B}.tools.parser`, "hermes"]],
  [
    [`${B}.model.thinking`, false],
    [`${B}.reasoningParser`, "qwen3"],
  ],
  [[`${B}.extraArgs`, ["--swap-space", "4", "--enforce-eager", "surplus"]]],
  [[`${B}.extraArgs`, ["--enable-sleep-mode"]]],
  [[`${B}.environment`, { VLLM_SERVER_DEV_MODE: "1", VLLM_NEW_THING: "1" }]],
  [[`${B}.environment`, { VLLM_ENABLE_STARTUP_PLAN: "1" }]],
  [
    [`${B}.moeBackend`, null],
    [`${B}.kvCacheDtype`, "nvfp4"],
  ],
  [[`${B}.speculative`, { method: "mtpp", numSpeculativeTokens: 3 }]],
  [[`${B}.kvCacheMemoryBytes`, 50 * 1024 ** 3]],
  [
    ["clients.codex", { server: "instance-a" }],
    ["instanceA.servedModelName", "org/a"],
  ],
  [
    ["clients.codex", { server: "simple-server", model: "qwen3:8b" }],
    ["simpleServer.models", ["qwen3:8b"]],
  ],
  [["clients.claudeCode.maxOutputTokens", 240000]],
  [["clients.claudeCode.via", "native"]],
  [["simpleServer", { mode: "none" }]],
  [["simpleServer", { mode: "integrated" }]],
  [["simpleServer.models", ["qwen3:8b"]]],
  [["simpleServer.listen", "0.0.0.0"]],
  [["device", null]],
];

function changed(edits: (typeof EDITS)[number]): string {
  const document = parseDocument(SAMPLE);
  for (const [path, value] of edits) {
    const at = ["config", "local-serving:machines", "dgx", ...path.split(".")];
    if (value === null) document.deleteIn(at);
    else document.setIn(at, document.createNode(value));
  }
  return document.toString();
}

/** What a plan of the sample with other settings says: every finding and every warning. */
function saidOf(edits: (typeof EDITS)[number]) {
  const settings = parseStackFile("Pulumi.dgx.yaml", changed(edits));
  const models = readModels(settings, process.cwd(), "/home/me");
  const made = plan(settings, { home: "/home/me", models });
  const judged = judge(declaredResources(made)).filter(({ verdict }) => verdict !== "pass");
  return { judged, messages: [...judged, ...made.warnings].map(({ message }) => message) };
}

it("the first sentence of a finding or a warning fits into a line of plan", () => {
  const heads = new Set(EDITS.flatMap((edits) => saidOf(edits).messages.map(headline)));
  expect(heads.size).toBeGreaterThan(60);
  expect([...heads].filter((head) => head.length > COLUMNS)).toEqual([]);
});

it("a refusal says what to write: as data, or in its second sentence", () => {
  const refused = EDITS.flatMap((edits) => saidOf(edits).judged).filter(
    ({ verdict }) => verdict === "refused",
  );
  expect(refused.length).toBeGreaterThan(25);
  const silent = refused.filter(
    ({ value, message }) => value === undefined && sentences(message).length < 2,
  );
  expect(silent.map(({ message }) => message)).toEqual([]);
});
