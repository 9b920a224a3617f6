import { type GpuProcess, readGpuProcesses } from "@local-serving/machines/devices/gpuProcesses";
import type { ContainerState } from "@local-serving/machines/docker/containers";
import { upToHundredth } from "@local-serving/vllm/utilization";
import type { HostFacts } from "./facts";
import type { Sources } from "./sources";

/** What is counted of a machine already. */
interface Counted {
  readonly running: readonly ContainerState[];
  readonly ours: readonly ContainerState[];
  readonly servers: HostFacts["servers"];
  readonly ollama?: HostFacts["ollama"];
}

const OLLAMA_UNIT = "ollama.service";

/**
 * Everything that holds memory of the GPU and is neither a vLLM that was found, nor ours, nor an
 * Ollama whose loaded models are known: each container, unit or process with what it holds.
 */
export async function readGpuUsers(
  { files, proc }: Sources,
  counted: Counted,
): Promise<Pick<HostFacts, "gpuUsers">> {
  const users = new Map<string, number>();
  for (const process of await readGpuProcesses(files, proc)) {
    const name = userOf(process, counted);
    if (name !== undefined) users.set(name, (users.get(name) ?? 0) + process.gib);
  }
  if (users.size === 0) return {};
  return { gpuUsers: [...users].map(([name, gib]) => ({ name, gib: upToHundredth(gib) })) };
}

/** Whom a process belongs to; `undefined` where it is counted elsewhere. */
function userOf(process: GpuProcess, { running, ours, servers, ollama }: Counted) {
  const { pid, name, container: id, unit } = process;
  const container = running.find((each) => each.id === id);
  if (container !== undefined && ours.includes(container)) return undefined;
  const owner = container === undefined ? unit : `container ${container.name}`;
  if (owner !== undefined && servers.some(({ runsIn }) => runsIn === owner)) return undefined;
  // vLLM's engine is a process of its own, by this name.
  if (container === undefined && servers.length > 0 && /^vllm/i.test(name)) return undefined;
  const isOllama = unit === OLLAMA_UNIT || (owner !== undefined && owner === ollama?.runsIn);
  if (isOllama && ollama?.models.some(({ loadedGiB }) => loadedGiB !== undefined)) return undefined;
  if (container !== undefined)
    return /open-webui.*ollama/i.test(container.image)
      ? `Open WebUI's own Ollama in ${owner}`
      : owner;
  return unit ?? `${name} (process ${pid})`;
}
