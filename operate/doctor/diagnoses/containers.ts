import type { Diagnosis, Row } from "../diagnosis";
import { seen, setting } from "../facts";
import { sign, startSign } from "../sign";
import { stateLine } from "./killed";

const NO_GPU_RUNTIME = sign(
  ["could not select device driver", "nvidia-container"],
  /could not select device driver "[^"]*" with capabilities: \[\[gpu\]\]|nvidia-container-runtime: not found/,
);

/** Exit codes of a container that somebody stopped: it ended by itself, or on TERM. */
const STOPPED = [0, 143];

/** What requests get once the engine is dead; the program may end with 0 all the same. */
const ENGINE_DEAD = sign(["EngineDeadError", "EngineCore encountered an issue"]);

/** Role of the file that only root may write. */
const DROP_IN = "simple-server-dropin";

export const containers: readonly (Diagnosis | Row)[] = [
  {
    id: "no-gpu-runtime",
    source: "Docker: could not select device driver with capabilities [[gpu]]",
    caughtBy: "the preflight of `up`",
    explain(facts) {
      const failed = facts.containers?.find(({ error }) => NO_GPU_RUNTIME.pattern.test(error));
      const evidence = seen(facts, NO_GPU_RUNTIME)?.line ?? failed?.error;
      if (evidence === undefined) return undefined;
      return {
        cause: "Docker can't give GPUs to containers: the NVIDIA Container Toolkit is missing or not set up.",
        evidence,
        advice: "No setting to change: install the toolkit first where it is missing.",
        command: "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker",
      };
    },
  },
  {
    id: "no-device",
    source: "vLLM config/device.py, torch: no GPU in sight",
    caughtBy: "the preflight of `up`, for Docker's part",
    when: startSign([
      "Failed to infer device type",
      "No CUDA GPUs are available",
      "Found no NVIDIA driver on your system",
    ]),
    cause: "vLLM sees no GPU: the container was started without one, or the driver doesn't answer.",
    advice: "No setting to change: see whether the driver answers on the host, then inside a container.",
    command: "nvidia-smi && docker run --rm --gpus all ubuntu nvidia-smi",
  },
  {
    id: "no-space",
    source: "ENOSPC, and vLLM distributed/device_communicators/shm_broadcast.py",
    when: sign(
      ["No space left on device", "Insufficient space in /dev/shm"],
      /No space left on device|Insufficient space in (\/dev\/shm)/,
    ),
    say: ({ hit }) => ({
      cause: hit.groups[0]
        ? "Shared memory (/dev/shm) is full, through which vLLM's processes talk."
        : "A disk is full: that of the model cache, of Docker, or of the kernels that were compiled.",
      advice: "No setting to change, unless `modelCache` names another disk: free some space.",
      command: "df -h /dev/shm / /var/lib/docker ~/.cache; docker system df",
    }),
  },
  {
    id: "image-not-found",
    source: "registries prune nightly tags: pin by digest",
    caughtBy: "the policy `moving-tag`",
    when: sign(
      ["manifest unknown", "No such image", "manifest for "],
      /manifest unknown|No such image: (\S+)|manifest for \S+ not found/,
    ),
    cause: "The registry no longer has this image, or never had it under this name.",
    advice: "Pin a release that exists and put the printed lines into the stack file.",
    command: "serving pin vllm/vllm-openai:v0.30.0",
  },
  {
    id: "docker-unreachable",
    source: "the Docker engine of the stack file's `dockerHost`",
    caughtBy: "the preflight of `up`",
    explain: ({ dockerProblem, stack }) =>
      dockerProblem === undefined
        ? undefined
        : {
            cause: `No Docker engine answers at ${stack?.settings.dockerHost ?? "the local socket"}.`,
            evidence: dockerProblem,
            advice:
              "No setting to change, unless `dockerHost` is wrong: start the engine, or join the group `docker` and log in again.",
            command: "sudo systemctl start docker && docker version",
          },
  },
  {
    id: "container-not-running",
    source: "the container that the plan has, against what the engine has",
    caughtBy: "a preview, which shows the container as missing",
    explain({ containers: running = [], allContainers, stack, logs }) {
      const planned = stack?.plan.containers.map(({ name }) => name) ?? [];
      const missing = planned.find((name) => !running.some((each) => each.name === name));
      const stopped = running.find(
        ({ name, status, exitCode }) =>
          planned.includes(name) && (status === "created" || (status === "exited" && STOPPED.includes(exitCode))),
      );
      const died = logs.some(({ container, hits }) => container === stopped?.name && hits.has(ENGINE_DEAD));
      if (stopped !== undefined)
        return {
          cause: died
            ? `${stopped.name} ended with ${stopped.exitCode}, as if somebody had stopped it, but its engine had died before.`
            : `Somebody stopped ${stopped.name}, and the engine doesn't start it again by itself.`,
          evidence: stateLine(stopped),
          advice: "No setting to change.",
          command: `docker start ${stopped.name} && serving wait`,
        };
      if (missing === undefined || allContainers !== true) return undefined;
      return {
        cause: `There is no container ${missing}: the stack file was not applied on this machine, or somebody removed it.`,
        evidence: `containers: ${running.map(({ name }) => name).join(", ") || "none"}`,
        advice: "No setting to change: apply it.",
        command: "npm run preview && npm run up",
      };
    },
  },
  {
    id: "stale-file",
    source: "a client's file or env file that is older than the stack file",
    caughtBy: "`serving verify` and a preview, which show the drift",
    aside: true,
    explain(facts) {
      const off = (facts.files ?? []).filter(({ state }) => state === "different" || state === "missing");
      if (off.length === 0) return undefined;
      const byHand = off.every(({ role }) => role === DROP_IN) && setting(facts, "elevate") === "none";
      return {
        cause: `${off.length === 1 ? "A file differs" : `${off.length} files differ`} from what the stack file asks for: edited by hand, or written by an earlier \`up\`.`,
        evidence: off.map(({ path, state }) => `${path}: ${state}`).join("; "),
        advice: byHand
          ? "No setting to change: with `elevate: none`, `up` never writes there. Run the commands that the plan prints."
          : "No setting to change: apply it. `up` keeps an edited file beside the restored one.",
        command: byHand ? "serving plan" : "npm run preview && npm run up",
      };
    },
  },
];
