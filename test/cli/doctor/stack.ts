import type { Stack } from "../../../cli/rules/picture";
import { applyEdits, type Edit } from "../../../cli/stackEdit/applyEdits";
import { plan } from "../../../components/plan/plan";
import { declaredResources } from "../../../components/program/machine/declaredResources";
import { parseStackFile } from "../../../components/settings/load";
import { judge } from "../../../policies/judge";

const HOME = "/home/me";

const DIGEST = "sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90";

/** A stack file as an operator writes one: comments, blank lines, a flow map. */
export const STACK_TEXT = `# The machine as it should be.
config:
  local-serving:machines:
    dgx:
      # MemTotal of /proc/meminfo.
      totalGiB: 121.63
      instanceA:
        port: 8000
        gpuMemoryUtilization: 0.36 # lowered by hand

      inferenceServers:
        # Instance B.
        b:
          model:
            id: nvidia/Qwen3.6-35B-A3B-NVFP4
            family: qwen3
            thinking: true
            weightsGB: 22
          servedModelName: qwen3.6-35b-a3b
          image: vllm/vllm-openai:v0.30.0@${DIGEST}
          versions: { vllm: 0.30.0, transformers: 5.10.4, evidence: read, digest: ${DIGEST}, source: test }
          gpuMemoryUtilization: 0.45
          maxModelLen: 262144
          maxNumSeqs: 16
          tools:
            parser: qwen3_coder # the family's own
          moeBackend: marlin
`;

export const SERVER = ["machines", "dgx", "inferenceServers", "b"] as const;

const stacks = new Map<string, Stack>();

/** The stack of a text, read, planned and judged once: most cases ask the same. */
export function stackOf(text = STACK_TEXT): Stack {
  const stack = stacks.get(text) ?? judgedStack(text);
  stacks.set(text, stack);
  return stack;
}

function judgedStack(text: string): Stack {
  const settings = parseStackFile("Pulumi.dgx.yaml", text);
  const planned = plan(settings, { home: HOME });
  const own = settings.machines.dgx;
  const [machine] = planned.machines;
  if (own === undefined || machine === undefined)
    throw new Error("the stack of these tests has a machine dgx");
  return {
    file: "Pulumi.dgx.yaml",
    text,
    machine: "dgx",
    settings: own,
    plan: machine,
    machines: planned.machines,
    refusals: judge(declaredResources(planned)).filter(({ verdict }) => verdict === "refused"),
    warnings: planned.warnings,
    planned: stackOf,
  };
}

export function withServer(...changes: readonly [path: string, value: Edit["value"]][]): string {
  return applyEdits(
    STACK_TEXT,
    changes.map(([path, value]) => ({ path: [...SERVER, ...path.split(".")], value })),
  );
}

export function withMachine(...changes: readonly [path: string, value: Edit["value"]][]): string {
  return applyEdits(
    STACK_TEXT,
    changes.map(([path, value]) => ({ path: ["machines", "dgx", ...path.split(".")], value })),
  );
}
