import { delimiter, posix } from "node:path";
import { defined } from "../../faults/defined";
import { Failed } from "../../faults/fault";
import { isRecord } from "../../faults/json";
import { type ContainerState, readContainers } from "../docker/containers";
import { docker, dockerJson } from "../docker/docker";
import { type Files, filesOf } from "../host/files";
import type { MachinePlan } from "../plan/types";
import { MACHINE_LABEL } from "../planned/container";
import { isOverSsh } from "../planned/reach";
import type { DockerFacts } from "./types";

/** One that removes a large image answers nobody for many seconds; beyond this it is not going to run a container. */
const ANSWER_WITHIN_SECONDS = 30;

/** Binary through which the daemon serves `--gpus` where no `nvidia` runtime is configured. */
const GPU_HOOK = "nvidia-container-runtime-hook";
const DAEMON_PATH = ["/usr/bin", "/usr/local/bin", "/usr/sbin", "/bin"];

/** Why no engine answers for a machine; `undefined` where one does. */
export async function engineProblem({ dockerHost }: MachinePlan): Promise<string | undefined> {
  const version = ["version", "--format", "{{.Server.Version}}"];
  return docker(version, ANSWER_WITHIN_SECONDS, dockerHost).then(() => undefined, reasonOf);
}

type Ours = Pick<MachinePlan, "name" | "network" | "containers">;

/**
 * The filters of `docker ps` that find our containers of a machine: by our label in our network. A renamed server
 * still holds its old name's memory and port, and another stack's server of the same machine name is not ours to count.
 */
export const oursOn = ({ name, network, containers }: Ours): readonly string[] => [
  `label=${MACHINE_LABEL}=${name}`,
  // A rank has the machine's own; any of these counts.
  ...[...new Set([network, ...containers.map((each) => each.network)])].map((each) => `network=${each}`),
];

/** The filter that finds every running container. */
export const RUNNING: readonly string[] = ["status=running"];

/**
 * Asks an engine whether it answers, whether it can serve GPUs, whether its bridge is there, and which containers pass the
 * filters. Reads only.
 */
export async function readDocker(dockerHost: string, filters: readonly string[]): Promise<DockerFacts<ContainerState>> {
  const ask = (...args: string[]) => docker(args, ANSWER_WITHIN_SECONDS, dockerHost);
  const files = filesOf({ dockerHost });
  try {
    const info = await dockerJson(["info", "--format", "{{json .}}"], ANSWER_WITHIN_SECONDS, dockerHost);
    const missingBridge = await bridgeMissing(info, ask, files);
    return {
      reachable: true,
      ...(isRecord(info) && typeof info.ID === "string" && info.ID !== "" ? { id: info.ID } : {}),
      gpuRuntime:
        hasNvidiaRuntime(info) || (await hookOnPath(files, isOverSsh({ dockerHost }) ? "" : process.env.PATH)),
      containers: await readContainers(dockerHost, filters),
      ...defined({ missingBridge }),
    };
  } catch (error) {
    return { reachable: false, reason: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof Failed) return error.message;
  throw error;
}

/** The interface of Docker's default network, where the machine has none of that name: no container can start then. */
async function bridgeMissing(
  info: unknown,
  ask: (...args: string[]) => Promise<string>,
  files: Files,
): Promise<string | undefined> {
  // A rootless daemon, or one in a virtual machine, has its interfaces elsewhere.
  const elsewhere = /rootless|Docker Desktop/.test(
    isRecord(info) ? `${String(info.SecurityOptions)} ${String(info.OperatingSystem)}` : "",
  );
  if (elsewhere) return undefined;
  const option = '{{index .Options "com.docker.network.bridge.name"}}';
  const name = (await ask("network", "inspect", "bridge", "--format", option).catch(() => "")).trim();
  return name === "" || typeof (await files.state(`/sys/class/net/${name}`)) === "object" ? undefined : name;
}

function hasNvidiaRuntime(info: unknown): boolean {
  if (!isRecord(info)) return false;
  if (isRecord(info.Runtimes) && "nvidia" in info.Runtimes) return true;
  const devices = info.DiscoveredDevices;
  return (
    Array.isArray(devices) && devices.some((each) => isRecord(each) && String(each.ID).startsWith("nvidia.com/gpu"))
  );
}

async function hookOnPath(files: Files, path = ""): Promise<boolean> {
  const folders = [...new Set([...path.split(delimiter), ...DAEMON_PATH])].filter(Boolean);
  const found = await Promise.all(folders.map((each) => files.may(posix.join(each, GPU_HOOK), "run")));
  return found.includes(true);
}

/**
 * Address that the provider takes without trying it: it only pings hosts that it doesn't reach over ssh. `.invalid` is
 * reserved, so nothing can ever answer there.
 */
const NOWHERE = "ssh://nobody@nowhere.invalid";

/**
 * The Docker host for a preview. Where no engine answers, a preview of a new stack is still worth having, and one that
 * creates needs no engine; so it is given a host that nobody asks. An update always gets the real host.
 */
export async function previewHost(machine: MachinePlan): Promise<{ host: string; reason?: string }> {
  if (isOverSsh(machine)) return { host: machine.dockerHost };
  const reason = await engineProblem(machine);
  return reason === undefined ? { host: machine.dockerHost } : { host: NOWHERE, reason };
}
