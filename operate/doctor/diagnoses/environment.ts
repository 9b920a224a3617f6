import { APPLY, type Diagnosis } from "../diagnosis";
import { seen, serverOf, setting, textSetting } from "../evidence";
import { sign, startSign } from "../sign";
import { stateLine } from "./memory";

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
  /(?:HTTP(?:\/[\d.]+)?"? 400|[Ee]rror code: 400|400 Bad Request|[Uu]nrecognized|extra_forbidden|[Ee]xtra inputs|UnsupportedParams\w*|not permitted).{0,200}\b(chat_template_kwargs|enable_thinking|thinking)\b|\b(chat_template_kwargs|enable_thinking|thinking)\b.{0,160}(?:[Uu]nrecognized|extra_forbidden|[Ee]xtra inputs are not permitted|UnsupportedParams|unsupported)/,
);
const GATED = startSign(
  ["GatedRepoError", "gated repo", "is restricted"],
  /GatedRepoError|[Cc]annot access gated repo|Access to model (\S+) is restricted/,
);
const HUB_UNREACHABLE = startSign(
  ["huggingface.co", "LocalEntryNotFoundError", "OfflineModeIsEnabled"],
  /couldn't connect to 'https:\/\/huggingface\.co'|LocalEntryNotFoundError|OfflineModeIsEnabled/,
);
const TRANSFORMERS_OLD = startSign("Transformers does not recognize this architecture");
const NO_GPU_RUNTIME = sign(
  ["could not select device driver", "nvidia-container"],
  /could not select device driver "[^"]*" with capabilities: \[\[gpu\]\]|nvidia-container-runtime: not found/,
);
const IMAGE_GONE = sign(
  ["manifest unknown", "No such image", "manifest for "],
  /manifest unknown|No such image: (\S+)|manifest for \S+ not found/,
);

/** Settings that carry the intent of a variable which vLLM dropped. */
const SUCCESSORS: Readonly<Record<string, string>> = {
  VLLM_ATTENTION_BACKEND: "attentionBackend",
  VLLM_FLASHINFER_MOE_BACKEND: "moeBackend",
  VLLM_NVFP4_GEMM_BACKEND: "moeBackend",
};

/** Exit codes of a container that somebody stopped: it ended by itself, or on TERM. */
const STOPPED = [0, 143];

/** Role of the file that only root may write. */
const DROP_IN = "simple-server-dropin";

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

const gated: Diagnosis = {
  id: "gated-model",
  source: "huggingface_hub: GatedRepoError",
  caughtBy: false,
  signs: [GATED],
  judge(evidence) {
    const hit = seen(evidence, GATED);
    if (hit === undefined) return undefined;
    const server = serverOf(evidence, hit.log);
    return {
      cause: "The model is gated and the server has no token that may read it.",
      evidence: hit.line,
      edits: [server.set(["huggingFaceTokenVariable"], "HF_TOKEN")],
      advice:
        "Accept the model's terms on its page first. The stack file holds the variable's name, never the token.",
      command: `test -n "$HF_TOKEN" && ${APPLY}`,
    };
  },
};

const hubUnreachable: Diagnosis = {
  id: "model-not-in-cache",
  source: "huggingface_hub: LocalEntryNotFoundError",
  caughtBy: false,
  signs: [HUB_UNREACHABLE, GATED],
  judge(evidence) {
    const hit = seen(evidence, HUB_UNREACHABLE);
    if (hit === undefined || seen(evidence, GATED) !== undefined) return undefined;
    const server = serverOf(evidence, hit.log);
    return {
      cause: "The model isn't in the cache, and the hub can't be reached to fetch it.",
      evidence: hit.line,
      advice:
        "Nothing in the stack file, unless `modelCache` names another directory: fill the cache while there is a network.",
      command: `hf download ${server.settings?.model.id ?? "<model>"}`,
    };
  },
};

const transformersOld: Diagnosis = {
  id: "transformers-too-old",
  source: "specification, Versioning 2: floors of vLLM and transformers",
  caughtBy: "the policies `inference-image` and `transformers-range`, where the versions are recorded",
  signs: [TRANSFORMERS_OLD],
  judge(evidence) {
    const hit = seen(evidence, TRANSFORMERS_OLD);
    if (hit === undefined) return undefined;
    return {
      cause: "The transformers inside the image is older than the model.",
      evidence: hit.line,
      advice:
        "Pin an image above the floors and put what is printed into the stack file. Never upgrade inside a running environment.",
      command: "serving pin vllm/vllm-openai:v0.30.0",
    };
  },
};

const noGpuRuntime: Diagnosis = {
  id: "no-gpu-runtime",
  source: "Docker: could not select device driver with capabilities [[gpu]]",
  caughtBy: "the preflight of `up`",
  signs: [NO_GPU_RUNTIME],
  judge(evidence) {
    const hit = seen(evidence, NO_GPU_RUNTIME);
    const failed = evidence.containers?.find(({ error }) => NO_GPU_RUNTIME.pattern.test(error));
    if (hit === undefined && failed === undefined) return undefined;
    return {
      cause: "Docker can't hand GPUs to containers: the NVIDIA Container Toolkit is missing or not set up.",
      evidence: hit?.line ?? failed?.error ?? "",
      advice: "Nothing in the stack file: install the toolkit first where it is missing.",
      command: "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker",
    };
  },
};

const imageGone: Diagnosis = {
  id: "image-not-found",
  source: "registries prune nightly tags: pin by digest",
  caughtBy: "the policy `moving-tag`",
  signs: [IMAGE_GONE],
  judge(evidence) {
    const hit = seen(evidence, IMAGE_GONE);
    if (hit === undefined) return undefined;
    return {
      cause: "The registry no longer has this image, or never had it by this name.",
      evidence: hit.line,
      advice: "Pin a release that is there and put what is printed into the stack file.",
      command: "serving pin vllm/vllm-openai:v0.30.0",
    };
  },
};

const dockerUnreachable: Diagnosis = {
  id: "docker-unreachable",
  source: "the Docker engine of the stack file's `dockerHost`",
  caughtBy: "the preflight of `up`",
  signs: [],
  judge({ dockerProblem, stack }) {
    if (dockerProblem === undefined) return undefined;
    return {
      cause: `No Docker engine answers at ${stack?.settings.dockerHost ?? "the local socket"}.`,
      evidence: dockerProblem,
      advice:
        "Nothing in the stack file, unless `dockerHost` is wrong: start the engine, or join the group `docker` and log in again.",
      command: "sudo systemctl start docker && docker version",
    };
  },
};

const notRunning: Diagnosis = {
  id: "container-not-running",
  source: "the container that the plan has, against what the engine has",
  caughtBy: "a preview, which shows the container as missing",
  signs: [],
  judge(evidence) {
    const { containers = [], allContainers, stack } = evidence;
    const planned = stack?.plan.containers.map(({ name }) => name) ?? [];
    const missing = planned.find((name) => !containers.some((each) => each.name === name));
    const stopped = containers.find(
      ({ name, status, exitCode }) =>
        planned.includes(name) &&
        (status === "created" || (status === "exited" && STOPPED.includes(exitCode))),
    );
    if (stopped !== undefined)
      return {
        cause: `${stopped.name} was stopped on purpose, and the engine starts it again only when it is told to.`,
        evidence: stateLine(stopped),
        advice: "Nothing in the stack file.",
        command: `docker start ${stopped.name} && serving wait`,
      };
    if (missing === undefined || allContainers !== true) return undefined;
    return {
      cause: `There is no container ${missing}: the stack file was not applied on this machine, or somebody removed it.`,
      evidence: `containers: ${containers.map(({ name }) => name).join(", ") || "none"}`,
      advice: "Nothing in the stack file: apply it.",
      command: "npm run preview && npm run up",
    };
  },
};

const staleFile: Diagnosis = {
  id: "stale-file",
  source: "a client's file or env file that is older than the stack file",
  caughtBy: "`serving verify` and a preview, which show the drift",
  aside: true,
  signs: [],
  judge(evidence) {
    const off = (evidence.files ?? []).filter(({ state }) => state === "different" || state === "missing");
    if (off.length === 0) return undefined;
    const byHand = off.every(({ role }) => role === DROP_IN) && setting(evidence, "elevate") === "none";
    return {
      cause: `${off.length === 1 ? "A file is" : `${off.length} files are`} not what the stack file asks for: edited by hand, or written by an earlier \`up\`.`,
      evidence: off.map(({ path, state }) => `${path}: ${state}`).join("; "),
      advice: byHand
        ? "Nothing in the stack file: with `elevate: none` nothing of ours writes there. Run the commands that the plan prints."
        : "Nothing in the stack file: apply it. A file that somebody edited is kept beside the restored one.",
      command: byHand ? "serving plan" : "npm run preview && npm run up",
    };
  },
};

export const environment: readonly Diagnosis[] = [
  unknownVariable,
  fp4Variable,
  thinkingRefused,
  gated,
  hubUnreachable,
  transformersOld,
  noGpuRuntime,
  imageGone,
  dockerUnreachable,
  notRunning,
  staleFile,
];
