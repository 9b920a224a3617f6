import type { Diagnosis } from "../diagnosis";
import { seen, setting } from "../evidence";
import { sign } from "../sign";
import { stateLine } from "./killed";

const NO_GPU_RUNTIME = sign(
  ["could not select device driver", "nvidia-container"],
  /could not select device driver "[^"]*" with capabilities: \[\[gpu\]\]|nvidia-container-runtime: not found/,
);
const IMAGE_GONE = sign(
  ["manifest unknown", "No such image", "manifest for "],
  /manifest unknown|No such image: (\S+)|manifest for \S+ not found/,
);

/** Exit codes of a container that somebody stopped: it ended by itself, or on TERM. */
const STOPPED = [0, 143];

/** Role of the file that only root may write. */
const DROP_IN = "simple-server-dropin";

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

export const containers: readonly Diagnosis[] = [
  noGpuRuntime,
  imageGone,
  dockerUnreachable,
  notRunning,
  staleFile,
];
