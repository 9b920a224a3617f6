import { listOf } from "@local-serving/base/faults/quoting";
import { wordFor } from "../../../components/plan";
import { serversOn } from "../../../components/planned";
import { noEngineText, tellOtherStack } from "../../../components/preflight";
import { gpuText } from "../../sees/gpu";
import { sign } from "../../sees/log/sign";
import { typedOn } from "../../stack/typed";
import { isOnRequest, type Stack, seen, setting } from "../picture";
import type { Row, WeighingRule } from "../rule";
import { stateLine } from "./killed";

const NO_GPU_RUNTIME = sign(
  [
    "could not select device driver",
    "nvidia-container",
    "unknown or invalid runtime",
    "nknown runtime",
  ],
  /could not select device driver "[^"]*" with capabilities: \[\[gpu\]\]|nvidia-container-runtime: not found|unknown or invalid runtime name: nvidia|Unknown runtime specified nvidia/,
);

/** Exit codes of a container that somebody stopped: it ended by itself, or on TERM. */
const STOPPED = [0, 143];

/** What requests get once the engine is dead; the program may end with 0 all the same. */
const ENGINE_DEAD = sign(["EngineDeadError", "EngineCore encountered an issue"]);

/** Role of the file that only root may write. */
const DROP_IN = "simple-server-dropin";

/** Starts a container again; of a server, follows its start. */
function started({ plan }: Stack, container: string): string {
  const isServer = serversOn(plan).some((each) => each.container.name === container);
  return `serving start ${wordFor(plan, container)}${isServer ? " && serving status --wait" : ""}`;
}

export const containers: readonly (WeighingRule | Row)[] = [
  {
    id: "no-gpu-runtime",
    explain(picture) {
      const failed = picture.containers?.find(({ error }) => NO_GPU_RUNTIME.pattern.test(error));
      const evidence = seen(picture, NO_GPU_RUNTIME)?.line ?? failed?.error;
      if (evidence === undefined) return undefined;
      return {
        cause:
          "Docker can't give GPUs to containers: the NVIDIA Container Toolkit is missing or not set up.",
        evidence,
        advice: "No setting to change: install the toolkit first if it is missing.",
        command:
          "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker",
      };
    },
  },
  {
    id: "docker-unreachable",
    explain: ({ dockerProblem, stack }) =>
      dockerProblem === undefined
        ? undefined
        : {
            cause: `${noEngineText(stack?.plan ?? { dockerHost: "the local socket" })}.`,
            evidence: dockerProblem,
            advice:
              "No setting to change, unless `dockerHost` is wrong: start the engine, or join the group `docker` and log in again.",
            command: "sudo systemctl start docker && docker version",
          },
  },
  {
    id: "other-stack",
    explain({ otherStack, stack }) {
      if (otherStack === undefined || stack === undefined) return undefined;
      const { cause, remedy } = tellOtherStack(stack.machine, otherStack);
      const { containers, network } = otherStack;
      return {
        cause,
        evidence: [
          `containers: ${containers.join(", ") || "none"}`,
          ...(network === undefined ? [] : [`network: ${network}`]),
        ].join("; "),
        advice: remedy,
        command: "docker ps --all --filter label=local-serving.machine && docker network ls",
      };
    },
  },
  {
    id: "container-not-running",
    explain(picture) {
      const { containers: running = [], allContainers, stack, logs } = picture;
      const planned = stack?.plan.containers.map(({ name }) => name) ?? [];
      const missing = planned.find((name) => !running.some((each) => each.name === name));
      const stopped = running.find(
        ({ name, status, exitCode }) =>
          planned.includes(name) &&
          !isOnRequest(picture, name) &&
          (status === "created" || (status === "exited" && STOPPED.includes(exitCode))),
      );
      const died = logs.some(
        ({ container, hits }) => container === stopped?.name && hits.has(ENGINE_DEAD),
      );
      if (stack !== undefined && stopped !== undefined)
        return {
          cause: died
            ? `${stopped.name} ended with ${stopped.exitCode}, as if somebody had stopped it, but its engine had died before.`
            : `Somebody stopped ${stopped.name}, and Docker doesn't start it again by itself.`,
          evidence: stateLine(stopped),
          advice: "No setting to change.",
          command: started(stack, stopped.name),
        };
      if (missing === undefined || allContainers !== true) return undefined;
      return {
        cause: `There is no container ${missing}: the stack file was not applied on this machine, or somebody removed the container.`,
        evidence: `containers: ${running.map(({ name }) => name).join(", ") || "none"}`,
        // Where it was removed, the engine sees that only when it looks.
        advice: "No setting to change: apply the stack file.",
        command: "serving preview && serving up --refresh",
      };
    },
  },
  {
    id: "network-off",
    explain({ offNetworks = [], stack }) {
      const [first] = offNetworks;
      if (first === undefined || stack === undefined) return undefined;
      const { network } = first;
      const off = offNetworks.filter((each) => each.network === network);
      const removed = off.some((each) => each.removed);
      const names = off.map(({ container }) => container);
      const evidence = `not on ${network}: ${names.join(", ")}`;
      if (!removed)
        return {
          cause: `${listOf(names)} ${names.length === 1 ? "isn't" : "aren't"} on the Docker network ${network}, so nothing on it reaches ${names.length === 1 ? "it" : "them"}.`,
          evidence,
          advice:
            "No setting to change: `serving status --against applied` prints what joins the network again.",
          command: "serving status --against applied",
        };
      // The engine makes those that run anew with the network, and doesn't see what the others lack.
      const stopped = off.flatMap(({ container, runs }) => (runs ? [] : container));
      const remove = typedOn(stack.plan, ["docker", "rm", "--force", ...stopped]);
      return {
        cause: `The Docker network ${network} was removed, so nothing reaches ${listOf(names)}.`,
        evidence,
        advice: "No setting to change: an update that looks at the machine makes it again.",
        command: `${stopped.length === 0 ? "" : `${remove} && `}serving up --refresh`,
      };
    },
  },
  {
    id: "stale-file",
    explain(picture) {
      const off = (picture.files ?? []).filter(
        ({ state }) => state === "different" || state === "missing",
      );
      if (off.length === 0) return undefined;
      const { filesAsApplied = [] } = picture;
      const evidence = off.map(({ path, state }) => `${path}: ${state}`).join("; ");
      if (off.every(({ path, state }) => state === "different" && filesAsApplied.includes(path)))
        return {
          cause: `The stack file has changes that aren't applied: ${off.length === 1 ? "a file is" : `${off.length} files are`} as the last \`up\` wrote ${off.length === 1 ? "it" : "them"}.`,
          evidence,
          advice: "No setting to change: apply the stack file.",
          command: "serving plan --against applied && serving up",
        };
      const byHand =
        off.every(({ role }) => role === DROP_IN) && setting(picture, "elevate") === "none";
      return {
        cause: `${off.length === 1 ? "A file differs" : `${off.length} files differ`} from what the stack file asks for: edited by hand, or written by an earlier \`up\`.`,
        evidence,
        advice: byHand
          ? "No setting to change: with `elevate: none`, `up` never writes there. Run the commands that the plan prints."
          : "No setting to change: `serving status --against applied` says which file was edited, and what writes it again; `serving up` applies a changed stack file.",
        command: byHand ? "serving plan simple-server" : "serving status --against applied",
      };
    },
  },
  {
    id: "gpu-slowed",
    explain({ gpu: state }) {
      if (state === undefined || state.slowedBy === null) return undefined;
      const isHot = state.slowedBy.includes("heat");
      return {
        cause: `The GPU runs slower than it could: it is held back by ${state.slowedBy}.`,
        evidence: gpuText(state),
        advice: isHot
          ? "No setting to change: cool the machine better, or cap its clock, as others do (`sudo nvidia-smi -lgc 200,2150`)."
          : "No setting to change: shut the machine down and unplug it for a minute. Others saw that a restart alone doesn't end this state.",
        command: "nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE,POWER",
      };
    },
  },
];
