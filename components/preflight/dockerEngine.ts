import { access, constants } from "node:fs/promises";
import { type RequestOptions, request } from "node:http";
import { delimiter, join } from "node:path";
import { MACHINE_LABEL } from "../host/labels";
import type { DockerFacts, RunningContainer } from "./types";

/** A daemon that says nothing for this long is not going to run a container. */
const ANSWER_WITHIN_MS = 5_000;

/** Binary through which the daemon serves `--gpus` where no `nvidia` runtime is configured. */
const GPU_HOOK = "nvidia-container-runtime-hook";
const DAEMON_PATH = ["/usr/bin", "/usr/local/bin", "/usr/sbin", "/bin"];

/**
 * Asks the engine whether it answers, whether it can serve GPUs, and which of our containers run for this machine.
 * They are found by our label in our network: a renamed server still holds its old name's memory and port, and another
 * stack's server of the same machine name is not ours to count. Reads only.
 */
export async function readDocker(host: string, machine: string, network: string): Promise<DockerFacts> {
  const address = addressOf(host);
  if (address === undefined)
    return { reachable: false, reason: `${host} is reached over ssh, which this check does not do` };
  try {
    const info = await get(address, "/info");
    const filters = JSON.stringify({
      label: [`${MACHINE_LABEL}=${machine}`],
      network: [network],
      status: ["running"],
    });
    const running = await get(address, `/containers/json?filters=${encodeURIComponent(filters)}`);
    const ids = Array.isArray(running) ? running.filter(isRecord).map((each) => String(each.Id)) : [];
    return {
      reachable: true,
      gpuRuntime: hasNvidiaRuntime(info) || (await hookOnPath()),
      containers: (await Promise.all(ids.map((id) => runningContainer(address, id)))).filter(
        (each) => each !== undefined,
      ),
    };
  } catch (error) {
    return { reachable: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

async function runningContainer(address: RequestOptions, id: string): Promise<RunningContainer | undefined> {
  const found = await get(address, `/containers/${encodeURIComponent(id)}/json`);
  if (!isRecord(found) || !isRecord(found.State) || found.State.Running !== true) return undefined;
  const config = isRecord(found.Config) ? found.Config : {};
  const ports =
    isRecord(found.HostConfig) && isRecord(found.HostConfig.PortBindings)
      ? found.HostConfig.PortBindings
      : {};
  return {
    name: String(found.Name).replace(/^\//, ""),
    argv: [config.Entrypoint, config.Cmd].flatMap((words) => (Array.isArray(words) ? words.map(String) : [])),
    hostPorts: Object.values(ports).flatMap((bindings) =>
      Array.isArray(bindings) ? bindings.filter(isRecord).map((binding) => Number(binding.HostPort)) : [],
    ),
  };
}

function addressOf(host: string): RequestOptions | undefined {
  if (host.startsWith("unix://")) return { socketPath: host.slice("unix://".length) };
  if (!host.startsWith("tcp://")) return undefined;
  const { hostname, port } = new URL(host);
  return { host: hostname, port: port === "" ? 2375 : Number(port) };
}

/** GET with a bound on time. A 404 is an answer (`undefined`), anything else that is no 200 a failure. */
function get(address: RequestOptions, path: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const asked = request({ ...address, path, method: "GET", timeout: ANSWER_WITHIN_MS }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("error", reject);
      answer.on("end", () => {
        if (answer.statusCode === 404) return resolve(undefined);
        if (answer.statusCode !== 200) return reject(new Error(`${path} was answered ${answer.statusCode}`));
        try {
          resolve(JSON.parse(Buffer.concat(chunks).toString("utf8")));
        } catch {
          reject(new Error(`${path} was answered with something other than JSON`));
        }
      });
    });
    asked.on("timeout", () => asked.destroy(new Error(`no answer within ${ANSWER_WITHIN_MS / 1000} s`)));
    asked.on("error", reject);
    asked.end();
  });
}

function hasNvidiaRuntime(info: unknown): boolean {
  if (!isRecord(info)) return false;
  if (isRecord(info.Runtimes) && "nvidia" in info.Runtimes) return true;
  const devices = info.DiscoveredDevices;
  return (
    Array.isArray(devices) &&
    devices.some((each) => isRecord(each) && String(each.ID).startsWith("nvidia.com/gpu"))
  );
}

async function hookOnPath(): Promise<boolean> {
  const folders = [...new Set([...(process.env.PATH ?? "").split(delimiter), ...DAEMON_PATH])].filter(
    Boolean,
  );
  const found = await Promise.all(
    folders.map((folder) =>
      access(join(folder, GPU_HOOK), constants.X_OK).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.includes(true);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
