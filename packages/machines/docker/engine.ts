import { delimiter, posix } from "node:path";
import { defined } from "@local-serving/base/faults/defined";
import { Failed } from "@local-serving/base/faults/fault";
import { isRecord } from "@local-serving/base/faults/json";
import { isOverSsh } from "../address";
import { type Files, filesOf } from "../files";
import { type ContainerState, readContainers } from "./containers";
import { docker, dockerJson } from "./docker";

/** What is judged of a container of ours that is up. */
export type RunningContainer = Pick<ContainerState, "name" | "gpuMemoryUtilization" | "memory"> & {
  readonly ports: readonly { readonly host: number }[];
  /** Absent where only running ones were asked for. */
  readonly status?: string;
};

export type DockerFacts<Container = RunningContainer> =
  | { readonly reachable: false; readonly reason: string }
  | {
      readonly reachable: true;
      /** The engine's own, whatever its address. */
      readonly id?: string;
      /** Whether a request for all GPUs can be served. */
      readonly gpuRuntime: boolean;
      /**
       * Its list of devices has GPUs of NVIDIA, by the files (CDI) that NVIDIA's toolkit wrote when it
       * saw them. They name none.
       */
      readonly listsNvidia?: true;
      /** Containers of ours on this machine that are up, or whichever were asked for. */
      readonly containers: readonly Container[];
      /** Interface of Docker's default network, where this computer lacks it. */
      readonly missingBridge?: string;
    };

/** Binary through which the daemon serves `--gpus` where no `nvidia` runtime is configured. */
const GPU_HOOK = "nvidia-container-runtime-hook";
const DAEMON_PATH = ["/usr/bin", "/usr/local/bin", "/usr/sbin", "/bin"];

/** The filter that finds every running container. */
export const RUNNING: readonly string[] = ["status=running"];

/**
 * The filters that find every container that is up: one that is paused, or that Docker is about to
 * start again, keeps its ports.
 */
export const UP: readonly string[] = [...RUNNING, "status=restarting", "status=paused"];

/**
 * Asks an engine whether it answers, whether it can serve GPUs, whether its bridge is there, and
 * which containers pass the filters. Reads only.
 */
export async function readDocker(
  dockerHost: string,
  filters: readonly string[],
): Promise<DockerFacts<ContainerState>> {
  const ask = (...args: string[]) => docker(args, dockerHost);
  const files = filesOf({ dockerHost });
  try {
    const info = await dockerJson(["info", "--format", "{{json .}}"], dockerHost);
    const missingBridge = await bridgeMissing(info, ask, files);
    return {
      reachable: true,
      ...(isRecord(info) && typeof info.ID === "string" && info.ID !== "" ? { id: info.ID } : {}),
      gpuRuntime:
        hasNvidiaRuntime(info) ||
        listsNvidia(info) ||
        (await hookOnPath(files, isOverSsh({ dockerHost }) ? "" : process.env.PATH)),
      containers: await readContainers(dockerHost, filters),
      ...defined({ missingBridge }),
      ...(listsNvidia(info) && { listsNvidia: true }),
    };
  } catch (error) {
    return { reachable: false, reason: reasonOf(error) };
  }
}

/**
 * Returns the interface of Docker's default network if the machine lacks it: then no container can
 * start.
 */
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
  const name = (
    await ask("network", "inspect", "bridge", "--format", option).catch(() => "")
  ).trim();
  return name === "" || typeof (await files.state(`/sys/class/net/${name}`)) === "object"
    ? undefined
    : name;
}

const hasNvidiaRuntime = (info: unknown): boolean =>
  isRecord(info) && isRecord(info.Runtimes) && "nvidia" in info.Runtimes;

function listsNvidia(info: unknown): boolean {
  const devices = isRecord(info) ? info.DiscoveredDevices : undefined;
  return (
    Array.isArray(devices) &&
    devices.some((each) => isRecord(each) && String(each.ID).startsWith("nvidia.com/gpu"))
  );
}

async function hookOnPath(files: Files, path = ""): Promise<boolean> {
  const folders = [...new Set([...path.split(delimiter), ...DAEMON_PATH])].filter(Boolean);
  const found = await Promise.all(
    folders.map((each) => files.may(posix.join(each, GPU_HOOK), "run")),
  );
  return found.includes(true);
}

/** Why no engine answers for a machine; `undefined` where one does. */
export async function engineProblem({
  dockerHost,
}: {
  readonly dockerHost: string;
}): Promise<string | undefined> {
  return engineVersion(dockerHost).then(() => undefined, reasonOf);
}

/** The version of an engine. Throws `Failed` where none answers. */
export const engineVersion = (dockerHost: string): Promise<string> =>
  docker(["version", "--format", "{{.Server.Version}}"], dockerHost);

function reasonOf(error: unknown): string {
  if (error instanceof Failed) return error.message;
  throw error;
}
