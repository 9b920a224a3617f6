import { TYPE } from "../../components/planned/type";
import { type Judged, judge, type Levels } from "../../policies/judge";
import type { DeclaredResource } from "../../policies/lib/container";

// The package's own entry loads all of Pulumi and takes seconds; this file of it has no typings.
const { unknownCheckingProxy } = require("@pulumi/policy/proxy") as Pick<
  typeof import("@pulumi/policy"),
  "unknownCheckingProxy"
>;

export { unknownCheckingProxy };

/**
 * What @pulumi/policy puts in place of text, a number or a list that is not known at a preview (its
 * proxy.ts).
 */
export const UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
export const UNKNOWN_NUMBER = "3eeb2bf0-c639-47a8-9e75-3b44932eb421";
export const UNKNOWN_LIST = "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2";

export const DIGEST = `sha256:${"8a69ffad".repeat(8)}`;
export const IMAGE = `vllm/vllm-openai:v0.30.0@${DIGEST}`;
/** The same image, named by its digest alone: its record may say any version. */
export const UNTAGGED = `vllm/vllm-openai@${DIGEST}`;

type Props = Record<string, unknown>;

/** A resource as the policy SDK hands it to a rule: reading an unknown value throws. */
export function declared(
  type: string,
  name: string,
  props: Props,
  more: Partial<DeclaredResource> = {},
) {
  return {
    type,
    name,
    urn: `urn:${type}::${name}`,
    props: unknownCheckingProxy(props) as Props,
    ...more,
  };
}

export function container(name: string, props: Props, more: Partial<DeclaredResource> = {}) {
  return declared(TYPE.container, name, { name, ...props }, more);
}

/** Arguments that no rule has anything against. */
export const CLEAN_COMMAND = [
  "Qwen/Qwen3-Coder",
  "--served-model-name",
  "qwen3-coder",
  "Qwen/Qwen3-Coder",
  "--gpu-memory-utilization",
  "0.45",
  "--enable-auto-tool-choice",
  "--tool-call-parser",
  "qwen3_coder",
];

/** A container that no rule has anything against, with what a case changes. */
export function server(changes: Props = {}, name = "b", more: Partial<DeclaredResource> = {}) {
  return container(
    name,
    {
      image: IMAGE,
      command: CLEAN_COMMAND,
      envs: ["VLLM_USE_FLASHINFER_MOE_FP4=0"],
      gpus: "all",
      ipcMode: "host",
      restart: "unless-stopped",
      ports: [{ ip: "127.0.0.1", internal: 8001, external: 8001 }],
      ...changes,
    },
    more,
  );
}

export function serving(...command: unknown[]) {
  return server({ command });
}

export function record(
  versions: Props = { vllm: "0.30.0", transformers: "5.10.4" },
  evidence: unknown = "read",
  more: Props = {},
  name = "v030",
) {
  return declared(TYPE.imageRecord, name, {
    digest: DIGEST,
    versions,
    evidence,
    source: "test",
    ...more,
  });
}

export function hostInstance(
  gpuMemoryUtilization: unknown = 0.45,
  machine = "dgx",
  port: unknown = 8000,
) {
  return declared(TYPE.hostInstance, `${machine}-a`, { machine, port, gpuMemoryUtilization });
}

export function serverRecord(changes: Props = {}) {
  return declared(TYPE.inferenceServer, "b", {
    machine: "dgx",
    container: "b",
    model: { id: "Qwen/Qwen3-Coder", kind: "chat", thinking: false },
    codingClients: [],
    ...changes,
  });
}

/** Messages of one rule with the verdict in front, passes left out. */
export function said(
  rule: string,
  resources: readonly DeclaredResource[],
  levels?: Levels,
): string[] {
  return judge(resources, levels)
    .filter((verdict) => verdict.name === rule && verdict.verdict !== "pass")
    .map((verdict) => `${verdict.verdict}: ${verdict.message}`);
}

export function verdictsOf(
  rule: string,
  resources: readonly DeclaredResource[],
  levels?: Levels,
): Judged[] {
  return judge(resources, levels).filter((verdict) => verdict.name === rule);
}
