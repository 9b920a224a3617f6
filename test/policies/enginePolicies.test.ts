import type { PolicyResource, ResourceValidationArgs } from "@pulumi/policy";
import { describe, expect, it } from "vitest";
import { TYPE } from "../../components/planned/type";
import { enginePolicies } from "../../policies/enginePolicies";
import { judge } from "../../policies/judge";
import type { DeclaredResource } from "../../policies/lib/container";
import { rules } from "../../policies/rules";
import {
  CLEAN_COMMAND,
  DIGEST,
  declared,
  hostInstance,
  IMAGE,
  record,
  server,
  UNKNOWN_LIST,
  UNKNOWN_TEXT,
  UNTAGGED,
} from "./declared";

/** What the SDK hands to a policy, as far as ours read it. */
function asArgs(resource: DeclaredResource): ResourceValidationArgs {
  const { type, name, urn = "", parent, props } = resource;
  return { type, name, urn, props, opts: { parent } } as unknown as ResourceValidationArgs;
}

/**
 * Runs the pack over resources as the engine does: inputs one by one, then the stack with outputs.
 */
function run(
  inputs: readonly DeclaredResource[],
  outputs: readonly DeclaredResource[] = inputs,
): string[] {
  const said: string[] = [];
  const policies = enginePolicies(rules);
  for (const resource of inputs) {
    for (const policy of policies) {
      if (!("validateResource" in policy) || typeof policy.validateResource !== "function")
        continue;
      policy.validateResource(asArgs(resource), (_, urn) => said.push(`${policy.name} ${urn}`));
    }
  }
  for (const policy of policies) {
    if (!("validateStack" in policy)) continue;
    const args = { resources: outputs.map(asArgs) as unknown as PolicyResource[] };
    policy.validateStack(args as Parameters<typeof policy.validateStack>[0], (_, urn) =>
      said.push(`${policy.name} ${urn}`),
    );
  }
  return said;
}

const clean = [server(), record(), hostInstance()];

describe("the policies of the pack", () => {
  it("carry unique kebab-case names, levels and descriptions that are sentences", () => {
    const policies = enginePolicies(rules);
    expect(new Set(policies.map((policy) => policy.name)).size).toBe(policies.length);
    for (const { name, description, enforcementLevel } of policies) {
      expect(name).toMatch(/^[a-z]+(-[a-z]+)+$/);
      expect(description).toMatch(/^[A-Z].*\.$/);
      expect(enforcementLevel).toMatch(/^(mandatory|advisory)$/);
    }
  });

  it("name settings as a program gave them, where they are below its component", () => {
    const labels = [
      { label: "local-serving.machine", value: "dgx" },
      { label: "local-serving.server", value: "b" },
    ];
    const written = (parents: string) => {
      const urn = `urn:pulumi:test::mine::${parents}${TYPE.container}::dgx-b`;
      const said: string[] = [];
      for (const policy of enginePolicies(rules, () => ({ line: 7 })))
        if (policy.name === "inference-image" && "validateResource" in policy)
          [policy.validateResource].flat()[0]?.(
            asArgs({ ...server({ image: "vllm/vllm-openai:v0.30.0", labels }), urn }),
            (message) => said.push(message),
          );
      return said.map((each) => / In the [^:]*: .*/.exec(each)?.[0]);
    };
    expect(written(`${TYPE.localServing}$${TYPE.machine}$`)).toEqual([
      " In the settings: `settings.dgx.inferenceServers.b.image`.",
    ]);
    expect(written(`${TYPE.machine}$`)).toEqual([
      " In the stack file, line 7: `machines.dgx.inferenceServers.b.image`.",
    ]);
  });

  it("advise commands that run in a program's folder, below its component", () => {
    const image = `vllm/vllm-openai:v0.30.0@sha256:${"0".repeat(64)}`;
    const labels = [
      { label: "local-serving.machine", value: "dgx" },
      { label: "local-serving.server", value: "b" },
    ];
    const said = (parents: string) => {
      const urn = `urn:pulumi:test::mine::${parents}${TYPE.container}::dgx-b`;
      const messages: string[] = [];
      for (const policy of enginePolicies(rules))
        if (policy.name === "inference-image" && "validateStack" in policy)
          policy.validateStack(
            { resources: [asArgs({ ...server({ image, labels }), urn })] } as never,
            (message) => messages.push(message),
          );
      return messages.map((each) => /`[^`]*serving pin [^`]*` looks inside[^.]*/.exec(each)?.[0]);
    };
    expect(said(`${TYPE.localServing}$${TYPE.machine}$`)).toEqual([
      `\`npx --no -- serving pin ${image}\` looks inside and prints what it finds`,
    ]);
    expect(said(`${TYPE.machine}$`)).toEqual([
      `\`serving pin ${image} --write\` looks inside and records what it finds, as \`serving up\` at a terminal does first`,
    ]);
  });

  it("have exactly three that are fixed, all mandatory", () => {
    const fixed = rules.filter((rule) => rule.fixed);
    expect(fixed.map((rule) => rule.name)).toEqual([
      "aggregate-utilization",
      "served-model-name",
      "inference-image",
    ]);
    expect(fixed.every((rule) => rule.level === "mandatory")).toBe(true);
  });

  it("give advice under a name of its own that only warns", () => {
    expect(run([server(), record(undefined, "published"), hostInstance()])).toEqual([
      `inference-image-advice ${server().urn}`,
    ]);
    const advising = enginePolicies(rules).filter((policy) => policy.name.endsWith("-advice"));
    expect(advising.map((policy) => [policy.name, policy.enforcementLevel])).toEqual([
      ["aggregate-utilization-advice", "advisory"],
      ["inference-image-advice", "advisory"],
      ["memory-sum-advice", "advisory"],
      ["server-starts-advice", "advisory"],
      ["transformers-range-advice", "advisory"],
      ["engine-names-advice", "advisory"],
      ["server-mounts-advice", "advisory"],
      ["tool-calling-advice", "advisory"],
      ["client-server-advice", "advisory"],
    ]);
  });

  it("let a rule advise only where it says that it does", () => {
    const largestUtilization = { b: { bySum: 0.9, byAggregate: 0.9 } };
    const crowded = { lines: [{ name: "x", gib: 2, basis: "default" }], largestUtilization };
    const servers = [{ name: "b", image: IMAGE, entrypoints: [], command: CLEAN_COMMAND }];
    const findings = judge([
      server({ image: UNTAGGED }),
      record({ vllm: "0.34.0", transformers: "5.30" }, "published"),
    ]);
    findings.push(
      ...judge([
        declared(TYPE.machine, "m", {
          hostInstance: "none",
          totalGiB: 1,
          memory: crowded,
          servers,
        }),
      ]),
    );
    findings.push(
      ...judge([server({ envs: ["VLLM_USE_FLASHINFER_MOE_FP4=1"], image: `fork/vllm@${DIGEST}` })]),
    );
    const mounts = [{ type: "bind", source: "/home/me/.codex", target: "/codex", readOnly: true }];
    findings.push(...judge([server({ mounts })]));
    const command = ["openai/gpt-oss-20b", "--tool-call-parser", "hermes"];
    findings.push(...judge([server({ command })]));
    const agent = { coding: true, serverKind: "simple-server", tiers: { model: "a" } };
    const simpleServer = { toolCalls: { a: "seen 2026-11-21" } };
    findings.push(...judge([declared(TYPE.machine, "o", { clients: [agent], simpleServer })]));
    const warning = findings.filter(
      (each) => each.verdict === "warned" && each.level === "mandatory",
    );
    expect(new Set(warning.map((each) => each.name))).toEqual(
      new Set(rules.filter((rule) => rule.advises).map((rule) => rule.name)),
    );
  });

  it("judge the stack by inputs, in which a field that nobody set is not unknown", () => {
    const outputs = [server({ entrypoints: UNKNOWN_LIST }), record(), hostInstance()];
    expect(run(clean, outputs)).toEqual([]);
    expect(run([], outputs)).not.toEqual([]);
  });

  it("know machines of one computer by the boot ids among their outputs", () => {
    const half = [...CLEAN_COMMAND.slice(0, -4), "0.5", ...CLEAN_COMMAND.slice(-3)];
    const inputs = ["one", "two"].flatMap((name, index) => {
      const ports = [{ ip: "127.0.0.1", internal: 1, external: 8001 + index }];
      const given = { machine: name, hostInstance: "none", servers: [] };
      const component = declared(TYPE.machine, name, given);
      return [component, { ...server({ command: half, ports }, name), parent: component.urn }];
    });
    const sums = (...bootIds: unknown[]) =>
      run(
        [...inputs, record()],
        [...inputs, record()].map((each) => {
          const bootId = bootIds[["one", "two"].indexOf(each.name)];
          return each.type === TYPE.machine ? declared(each.type, each.name, { bootId }) : each;
        }),
      ).filter((said) => said.startsWith("aggregate-utilization "));
    expect(sums("x", "y")).toEqual([]);
    expect(sums("x", UNKNOWN_TEXT)).toEqual([]);
    expect(sums("x", "x")).toHaveLength(1);
  });

  it("leave it to the program to say why, where it refuses the same", () => {
    const given = { hostInstance: "none", servers: [], totalGiB: 1 };
    const memory = { lines: [{ name: "x", gib: 2, basis: "setting" }] };
    const said = (refused: readonly string[]) => {
      const machine = declared(TYPE.machine, "dgx", { ...given, memory, refused });
      const messages: string[] = [];
      for (const policy of enginePolicies(rules))
        if ("validateResource" in policy && typeof policy.validateResource === "function")
          policy.validateResource(asArgs(machine), (message) => messages.push(message));
      return messages;
    };
    const [why = ""] = said([]);
    expect(why).toContain(
      "The memory of dgx doesn't fit: 2.00 of 1.00 GiB, 1.00 too much. What else can be reduced, the largest first: x.",
    );
    expect(said(["memory-sum dgx"])).toEqual([
      "The program's error says what to change, and where.",
    ]);
    expect(said(["memory-sum other", "aggregate-utilization dgx"])).toEqual([why]);
  });

  it("point at the resource that a finding is about", () => {
    expect(run([server({ gpus: undefined }), record(), hostInstance()])).toEqual([
      `inference-container ${server().urn}`,
    ]);
  });
});

describe("judge", () => {
  it("says one pass for each rule without findings", () => {
    expect(judge(clean)).toEqual(
      rules
        .filter(({ concerns }) => concerns === undefined)
        .map((rule) => ({
          name: rule.name,
          level: rule.level,
          verdict: "pass",
          message: "",
          resource: "",
        })),
    );
  });

  it("leaves out what is disabled, except what is fixed", () => {
    expect(judge(clean, { all: "disabled" }).map((verdict) => verdict.name)).toEqual([
      "aggregate-utilization",
      "served-model-name",
      "inference-image",
    ]);
  });
});
