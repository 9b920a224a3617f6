import { APPLY, type Diagnosis } from "../diagnosis";
import { seen, serverOf, textSetting } from "../evidence";
import { sign } from "../sign";

const UNKNOWN_VARIABLE = sign(
  "Unknown vLLM environment variable detected",
  /Unknown vLLM environment variable detected: (?!VLLM_USE_FLASHINFER_MOE_FP4\b)(\w+)/,
);
const FP4_VARIABLE = sign(
  "VLLM_USE_FLASHINFER_MOE_FP4",
  /Unknown vLLM environment variable detected: (VLLM_USE_FLASHINFER_MOE_FP4)\b/,
);
const THINKING_REFUSED = sign(
  ["chat_template_kwargs", "enable_thinking", "thinking"],
  /(?:HTTP(?:\/[\d.]+)?"? 400|[Ee]rror code: 400|400 Bad Request|[Uu]nrecognized|extra_forbidden|[Ee]xtra inputs|UnsupportedParams\w*|not permitted|[Uu]nknown (?:parameter|field|argument)).{0,200}\b(chat_template_kwargs|enable_thinking|thinking)\b|\b(chat_template_kwargs|enable_thinking|thinking)\b.{0,160}(?:[Uu]nrecognized|extra_forbidden|[Ee]xtra inputs are not permitted|UnsupportedParams|unsupported)/,
);
/** Settings that carry the intent of a variable which vLLM dropped. */
const SUCCESSORS: Readonly<Record<string, string>> = {
  VLLM_ATTENTION_BACKEND: "attentionBackend",
  VLLM_FLASHINFER_MOE_BACKEND: "moeBackend",
  VLLM_NVFP4_GEMM_BACKEND: "moeBackend",
};

const unknownVariable: Diagnosis = {
  id: "unknown-vllm-variable",
  source: "vLLM vllm/envs.py, validate_environ",
  caughtBy: false,
  signs: [UNKNOWN_VARIABLE],
  judge(evidence) {
    const hit = seen(evidence, UNKNOWN_VARIABLE);
    if (hit === undefined) return undefined;
    const server = serverOf(evidence, hit.log);
    const [variable = ""] = hit.groups;
    const successor = SUCCESSORS[variable];
    const value = server.settings?.environment[variable];
    return {
      cause: `${variable} is set, and this version of vLLM does not know it: it does nothing${successor === undefined ? "" : `, and \`${successor}\` has taken its place`}.`,
      evidence: hit.line,
      edits: [
        server.set(["environment", variable], undefined),
        ...(successor === undefined || value === undefined ? [] : [server.set([successor], value)]),
      ],
      command: APPLY,
    };
  },
};

const fp4Variable: Diagnosis = {
  id: "fp4-variable-without-backend",
  source: "vllm-project/vllm #43148, #44992: VLLM_USE_FLASHINFER_MOE_FP4 is gone since 0.24",
  caughtBy: "the plan's warning `inert-variable`",
  signs: [FP4_VARIABLE],
  judge(evidence) {
    const hit = seen(evidence, FP4_VARIABLE);
    const server = serverOf(evidence, hit?.log);
    // The stack sets it as specified, and the backend carries what it meant; without a stack file that isn't known.
    if (hit === undefined || server.settings === undefined) return undefined;
    if (server.settings.moeBackend !== undefined || server.settings.flashinferMoeFp4) return undefined;
    return {
      cause:
        "VLLM_USE_FLASHINFER_MOE_FP4=0 does nothing in this version, so the FP4 fast path is not off: the backend must be named.",
      evidence: hit.line,
      edits: [server.set(["moeBackend"], "marlin")],
      command: APPLY,
    };
  },
};

const inertFp4Variable: Diagnosis = {
  id: "inert-fp4-variable",
  source: "vllm-project/vllm #43148, #44992: VLLM_USE_FLASHINFER_MOE_FP4 is gone since 0.24",
  caughtBy: "the plan's warning `inert-variable`",
  harmless: true,
  signs: [FP4_VARIABLE],
  judge(evidence) {
    const hit = seen(evidence, FP4_VARIABLE);
    if (hit === undefined || fp4Variable.judge(evidence) !== undefined) return undefined;
    const { settings } = serverOf(evidence, hit.log);
    return {
      cause:
        settings === undefined
          ? "VLLM_USE_FLASHINFER_MOE_FP4 is set as specified, and this version of vLLM no longer knows it: what it meant is now said by the MoE backend."
          : "VLLM_USE_FLASHINFER_MOE_FP4 is set as specified, and this version of vLLM no longer knows it: `moeBackend` says what it meant.",
      evidence: hit.line,
      advice:
        settings === undefined
          ? "With `moeBackend: marlin` in the stack file there is nothing to do."
          : "Nothing in the stack file.",
      command: "serving plan",
    };
  },
};

const thinkingRefused: Diagnosis = {
  id: "thinking-parameter-refused",
  source:
    'specification, Errors: "Provider server answers 400 to one of the two thinking-disable parameters"',
  caughtBy: false,
  signs: [THINKING_REFUSED],
  judge(evidence) {
    const hit = seen(evidence, THINKING_REFUSED);
    if (hit === undefined) return undefined;
    const parameter = hit.groups.find((group) => group !== "") ?? "thinking";
    return {
      cause: `The server refuses \`${parameter}\`, one of the two parameters that turn hidden reasoning off.`,
      evidence: hit.line,
      advice:
        "Nothing in the stack file, and nothing to do: the harness asks again without it. With another client, leave that parameter out; in the bridge `drop_params: true` does so.",
      command: `serving config check providers ${textSetting(evidence, "harness", "home") ?? "~/.hx"}/providers.toml --probe`,
    };
  },
};

export const environment: readonly Diagnosis[] = [
  unknownVariable,
  fp4Variable,
  inertFp4Variable,
  thinkingRefused,
];
