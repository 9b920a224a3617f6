import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ResourceValidationArgs } from "@pulumi/policy";
import { log, runtime } from "@pulumi/pulumi";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { plan } from "../../components/plan/plan";
import { declaredResources } from "../../components/program/machine/declaredResources";
import { parseEngineConfig, stackFileOf } from "../../components/settings/load";
import program from "../../index";
import { enginePolicies } from "../../policies/enginePolicies";
import { rules } from "../../policies/rules";
import { DIGEST } from "../fixtures/machine";
import { temporaryFolder } from "../layers/temporaryFolder";
import { record } from "./record";

/** The project's folder for a program under mocks. */
const PROJECT = "rootDirectory";
const FILE = join(PROJECT, "Pulumi.test.yaml");

const MACHINE = `config:
  local-serving:machines:
    dgx:
      totalGiB: 121.63
      dockerHost: ssh://me@dgx
      instanceA: { gpuMemoryUtilization: 0.45 }
      inferenceServers:
        b:
          model: { id: org/model, family: qwen3 }
          servedModelName: model
          image: vllm/vllm-openai:v0.30.0@${DIGEST}
          versions: { vllm: 0.30.0, transformers: 5.10.4, evidence: read, digest: ${DIGEST}, source: test }
          gpuMemoryUtilization: 0.45
          maxModelLen: 262144
`;
const SHARE = /gpuMemoryUtilization: 0.45\n {10}max/;
const tooMuch = MACHINE.replace(SHARE, "gpuMemoryUtilization: 0.5\n          max");
const AGGREGATE =
  "aggregate-utilization: The servers of dgx claim 0.95 of its memory, and 0.90 is the limit. Set --gpu-memory-utilization of b to 0.45 or less. The plan still warns of the sum of the shares. Instance A is not ours to lower: only its owner can, to 0.40 or less. Claimed: instance A (host, port 8000) 0.45 + b 0.50, 115.5 of 121.63 GiB.";
const NEW_SHARE = "`machines.dgx.inferenceServers.b.gpuMemoryUtilization: 0.45`.";

/** The configuration as the engine reads it in the text of a stack file. */
function engineConfig(text: string): Record<string, string> {
  const { config } = parse(text) as { config: Record<string, unknown> };
  return Object.fromEntries(
    Object.entries(config).map(([key, value]) => [key, JSON.stringify(value)]),
  );
}

describe("the stack file beside the program", () => {
  const home = process.cwd();
  beforeEach(() => {
    process.chdir(temporaryFolder("stack-file-"));
    mkdirSync(PROJECT);
    vi.spyOn(log, "warn").mockImplementation(async () => undefined);
    vi.stubEnv("PATH", "");
  });
  afterEach(() => {
    process.chdir(home);
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });

  /** What `up` says when it refuses this configuration, `file` being the text of the stack file. */
  async function refusal(text: string, file: string | undefined): Promise<string> {
    if (file !== undefined) writeFileSync(FILE, file);
    let said = "";
    await record(async () => {
      vi.spyOn(runtime, "isDryRun").mockReturnValue(false);
      runtime.setAllConfig(engineConfig(text));
      said = await program().then(String, (error: Error) => error.message);
    });
    return said;
  }

  it("gives each refusal of `up` its line", async () => {
    expect((await refusal(tooMuch, tooMuch)).split("\n")).toEqual([
      "Refused, and nothing was changed:",
      `- ${AGGREGATE} In the stack file, line 13: ${NEW_SHARE}`,
      "- preflight of dgx: There is no `ssh` on PATH to reach dgx: install the OpenSSH client. In the stack file, line 5: `machines.dgx.dockerHost`.",
    ]);
  });

  it("gives each fault of the configuration its line", async () => {
    const faulty = tooMuch.replace("totalGiB", "totalGB");
    expect((await refusal(faulty, faulty)).split("\n")).toEqual([
      "Pulumi.test.yaml: 1 fault",
      "  Pulumi.test.yaml:4:7 machines.dgx.totalGB: Unknown key `totalGB`. Did you mean `totalGiB`?",
    ]);
  });

  it.each([
    ["isn't there, as with --config-file elsewhere", undefined],
    ["holds another configuration", MACHINE],
    ["is not YAML", "config: {"],
    ["has no configuration", "encryptionsalt: v1\n"],
  ])("gives no line where it %s", async (_, file) => {
    expect((await refusal(tooMuch, file)).split("\n")[1]).toBe(
      `- ${AGGREGATE} In the stack file: ${NEW_SHARE}`,
    );
  });

  it("gives the findings of the policy pack their lines", () => {
    writeFileSync(FILE, tooMuch);
    const config = engineConfig(tooMuch);
    const document = stackFileOf(config, PROJECT, "test");
    const said: string[] = [];
    const policies = enginePolicies(rules, (path) => document?.locate(path) ?? {});
    for (const { type, name, props } of declaredResources(
      plan(parseEngineConfig(config), { home: "/me" }),
    )) {
      const args = { type, name, urn: name, props, opts: {} } as unknown as ResourceValidationArgs;
      for (const policy of policies)
        if ("validateResource" in policy && typeof policy.validateResource === "function")
          policy.validateResource(args, (message) => said.push(`${policy.name}: ${message}`));
    }
    expect(said).toContain(`${AGGREGATE} In the stack file, line 13: ${NEW_SHARE}`);
  });
});
