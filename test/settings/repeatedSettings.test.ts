import { engineData, engineVersions } from "@local-serving/vllm/engineData";
import { describe, expect, it } from "vitest";
import { parseStackFile } from "../../components/settings/load";
import { FLAGS_WITH_SETTING, repeatedFlags } from "../../components/settings/repeatedSettings";
import { faultsFrom } from "../fixtures/faults";
import { DIGEST } from "../fixtures/machine";

const faultsOf = (text: string) => faultsFrom(() => parseStackFile("Pulumi.test.yaml", text));

const machine = (lines: string) =>
  `config:\n  local-serving:machines:\n    dgx:\n${lines.replaceAll(/^/gm, "      ")}\n`;
const SERVER = `inferenceServers:
  b:
    model: {id: org/model}
    servedModelName: model
    image: vllm/vllm-openai:v0.30.0@${DIGEST}
    gpuMemoryUtilization: 0.45
    maxModelLen: 1024
`;

describe("faults of a stack file", () => {
  it.each([
    ...["-tp=2", "-t", "-tp"].map((flag) => [flag, "-tp", "tensorParallelSize"]),
    ...["-sc", "-s", "-sc={}", "-sc.model"].map((flag) => [flag, "-sc", "speculative"]),
    ...[
      "--speculative-config.model",
      "--speculative_config.method=mtp",
      "--speculative-config={}",
    ].map((flag) => [flag, "--speculative-config", "speculative"]),
    ["--spec-model", "--spec-model", "speculative"],
    ["--spec_tokens=3", "--spec-tokens", "speculative"],
    ["-n2", "-n", "nodes"],
    ["-r1", "-r", "nodes"],
    ["--device_memory_utilization=0.9", "--device-memory-utilization", "gpuMemoryUtilization"],
    ["--max-model-len 5", "--max-model-len", "maxModelLen"],
    ["--attention-config.backend=X", "--attention-config.backend", "attentionBackend"],
    ["-ac.backend=X", "--attention-config.backend", "attentionBackend"],
    ['--attention_config={"backend":"X"}', "--attention-config.backend", "attentionBackend"],
    ["--kernel-config.moe_backend", "--kernel-config.moe_backend", "moeBackend"],
    [
      '--additional-config={"gdn_prefill_backend":"x"}',
      "--additional-config.gdn_prefill_backend",
      "gdnPrefillBackend",
    ],
    [
      "--structured-outputs-config.reasoning_parser",
      "--structured-outputs-config.reasoning_parser",
      "reasoningParser",
    ],
  ])("refuse a setting's other spelling %s", (argument = "", flag = "", setting = "") => {
    const text = `totalGiB: 8\ninstanceA: none\n${SERVER}    extraArgs: [${JSON.stringify(argument)}]`;
    expect(faultsOf(machine(text))).toEqual([
      expect.objectContaining({
        path: "machines.dgx.inferenceServers.b.extraArgs.0",
        code: "repeated_flag",
        message: `\`${flag}\` has a setting of its own: use \`${setting}\`.`,
        line: 13,
      }),
    ]);
  });

  it("find a key of JSON in the argument behind its flag", () => {
    const json = '["--block-size", "16", "-ac", \'{"backend":"X"}\']';
    const [fault] = faultsOf(
      machine(`totalGiB: 8\ninstanceA: none\n${SERVER}    extraArgs: ${json}`),
    );
    expect(fault).toMatchObject({
      path: "machines.dgx.inferenceServers.b.extraArgs.2",
      code: "repeated_flag",
    });
  });

  it.each([
    [["--attention-config", '{"flash_attn_version":3}']],
    [["--attention-config.flash_attn_version=3"]],
    [["--compilation-config.mode", "3"]],
    [["-cc.mode=3", "-O3", "-q", "fp8", "-ep", "-dcp", "1", "-asc=1"]],
    [["--additional-config", "{}", "--kernel-config={}", "--reasoning-config"]],
    [
      [
        "--chat-template-content-format",
        "string",
        "--config-format=hf",
        "--tokenizer-revision=main",
      ],
    ],
  ])("take what no setting gives: %j", (extraArgs) => {
    expect(repeatedFlags(extraArgs)).toEqual([]);
  });

  it("know every short name that vLLM has for a flag with a setting", () => {
    const shorts = engineVersions().flatMap((version) =>
      Object.entries(engineData(version)?.aliases ?? {}),
    );
    const [known, missing]: [string[], string[]] = [[], []];
    for (const [alias, name] of shorts) {
      if (FLAGS_WITH_SETTING[`--${name}`] === undefined) continue;
      (repeatedFlags([alias]).length === 1 ? known : missing).push(alias);
    }
    expect([...new Set(known)].sort()).toEqual([
      "--device-memory-utilization",
      "-n",
      "-pp",
      "-r",
      "-sc",
      "-tp",
    ]);
    expect(missing).toEqual([]);
  });

  it.each([
    ["MAX_JOBS", "use `compileJobs`"],
    ["NINJA_JOBS", "use `compileJobs`"],
    ["HF_TOKEN", "use `huggingFaceTokenVariable`, by which the token reaches the server as a file"],
    [
      "HF_TOKEN_PATH",
      "use `huggingFaceTokenVariable`, by which the token reaches the server as a file",
    ],
    [
      "LOCAL_SERVING_RANKS",
      "they are set from the machine's settings; use `nodes` for several ranks",
    ],
    [
      "LOCAL_SERVING_ANY",
      "they are set from the machine's settings; use `nodes` for several ranks",
    ],
  ])("refuse the variable %s, which a setting gives", (variable, instead) => {
    const text = `totalGiB: 8\ninstanceA: none\n${SERVER}    environment: {NCCL_DEBUG: INFO, ${variable}: "1"}`;
    expect(faultsOf(machine(text))).toEqual([
      expect.objectContaining({
        path: `machines.dgx.inferenceServers.b.environment.${variable}`,
        code: "repeated_variable",
        message: `\`${variable}\` has a setting of its own: ${instead}, and delete this line.`,
        line: 13,
      }),
    ]);
  });

  const OPTION = "Expected a value that does not begin with `-`, which would make it an option.";
  it.each([
    ["aliases: [m, --x]", "aliases.1"],
    ["tools: {parser: --x}", "tools.parser"],
    ...[
      "reasoningParser",
      "moeBackend",
      "attentionBackend",
      "gdnPrefillBackend",
      "loadFormat",
      "chatTemplate",
    ].map((key) => [`${key}: "-x"`, key]),
  ])("refuse a value that would be an option: %s", (line = "", path = "") => {
    const [fault, ...others] = faultsOf(
      machine(`totalGiB: 8\ninstanceA: none\n${SERVER}    ${line}`),
    );
    expect(others).toEqual([]);
    expect(fault).toMatchObject({ path: `machines.dgx.inferenceServers.b.${path}`, line: 13 });
    expect(fault?.message.startsWith(OPTION)).toBe(true);
  });

  it.each([
    ["servedModelName: model", 'servedModelName: "--x"', "servedModelName"],
    ["id: org/model", 'id: "-org/m"', "model.id"],
  ])("refuse it in place of %s", (good, bad, path) => {
    expect(SERVER).toContain(good);
    const [fault, ...others] = faultsOf(
      machine(`totalGiB: 8\ninstanceA: none\n${SERVER.replace(good, bad)}`),
    );
    expect(others).toEqual([]);
    expect(fault).toMatchObject({ path: `machines.dgx.inferenceServers.b.${path}` });
    expect(fault?.message.startsWith(OPTION)).toBe(true);
  });

  it.each([
    "ssh://-oProxyCommand=x@host",
    "ssh://-oProxyCommand@host",
    "ssh://user@-oX",
    "ssh://-oX",
  ])("refuse a user or a host that is an option of ssh: %s", (address) => {
    const [fault] = faultsOf(
      machine(`totalGiB: 8\ninstanceA: none\n${SERVER}dockerHost: "${address}"`),
    );
    expect(fault).toMatchObject({ path: "machines.dgx.dockerHost", line: 13 });
    expect(fault?.message).toMatch(
      /^Expected (a host or path|a user and a host that do not begin with `-`)/,
    );
  });
});
