import { readdir, readFile, statfs } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { Failed } from "../../commandLine/exit";
import { isExecutable } from "../../commandLine/run";
import { CLIENTS } from "../../components/clients/registry";
import type { ContainerState } from "../../components/docker/containers";
import { BYTES_PER_GB, cachedModels } from "../../components/evidence/modelCache";
import { operatorHome } from "../../components/evidence/readEvidence";
import { readListeners, readSockets } from "../../components/host/listeners";
import { hundredths } from "../../components/memory/ledger";
import { MACHINE_LABEL } from "../../components/planned/container";
import { parseMeminfo } from "../../components/planned/evidence";
import { HERE } from "../../components/planned/reach";
import { RUNNING, readDocker } from "../../components/preflight/readDocker";
import { OLLAMA_URL } from "../../components/preflight/readSimpleServer";
import type { DockerFacts } from "../../components/preflight/types";
import { defined } from "../../faults/defined";
import type { HostFacts } from "./facts";
import { ASKED_ARGUMENTS } from "./knownTroubles";
import { readOllama } from "./readOllama";
import { addressOf, readHostServers } from "./readServers";

/** Where the machine is looked at. */
export interface Sources {
  readonly proc: string;
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  readonly ollamaUrl: string;
  /** Ports at which another user's process is asked whether it is a vLLM; people count up from vLLM's own. */
  readonly usualPorts: readonly number[];
  /** Room on the disk of a path, in GB (10^9 bytes). */
  freeGB(path: string): Promise<number | undefined>;
}

export const thisComputer = (): Sources => ({
  proc: "/proc",
  env: process.env,
  home: operatorHome(),
  ollamaUrl: OLLAMA_URL,
  usualPorts: Array.from({ length: 10 }, (_, index) => 8000 + index),
  freeGB,
});

/** Looks at the machine that this runs on, and changes nothing. Throws `Failed` where it isn't Linux. */
export async function readHost(sources: Sources): Promise<HostFacts> {
  const { proc, env, ollamaUrl } = sources;
  const read = async (file: string) => (await readFile(join(proc, file), "utf8").catch(() => "")).trimEnd();
  const memory = parseMeminfo(await read("meminfo"));
  if (memory === undefined)
    throw new Failed(
      `${proc}/meminfo can't be read: run this on the machine itself, or give what \`serving init --facts\` printed there with --from FILE.`,
    );
  const socket = env.DOCKER_HOST?.startsWith("unix:///") ? env.DOCKER_HOST : HERE;
  const docker = await readDocker(socket, RUNNING);
  const sockets = await readSockets(proc);
  const ports = [...new Set(sockets.map(({ port }) => port))].sort((a, b) => a - b);
  const listeners = await readListeners(ports, proc);
  const running = docker.reachable ? docker.containers : [];
  const ours = running.filter(({ labels }) => labels[MACHINE_LABEL] !== undefined);
  const isOurs = (port: number) => ours.some((each) => each.ports.some(({ host }) => host === port));
  const ollamaPort = Number(new URL(ollamaUrl).port);
  const kernelArguments = (await read("cmdline")).split(/\s+/);
  const { totalGiB } = memory;
  return {
    readAt: new Date().toISOString(),
    host: (await read("sys/kernel/hostname")) || "unknown",
    kernel: (await read("sys/kernel/osrelease")) || "unknown",
    kernelArguments: ASKED_ARGUMENTS.filter((each) => kernelArguments.includes(each)),
    gpus: await gpusIn(join(proc, "driver/nvidia/gpus")),
    memory: { totalGiB: hundredths(totalGiB), availableGiB: hundredths(memory.availableGiB) },
    docker: dockerFacts(docker),
    servers: await readHostServers({
      proc,
      totalGiB,
      sockets,
      listeners: listeners.filter(({ port }) => !isOurs(port)),
      containers: running.filter((each) => !ours.includes(each)),
      usualPorts: sources.usualPorts,
    }),
    ports,
    modelCache: await modelCache(sources),
    clients: CLIENTS.flatMap((client) => ("program" in client ? client.program.name : [])).filter((name) =>
      onPath(name, env),
    ),
    ...defined({
      driver: /Module.*?\s(\d+\.\d[\d.]*)\s/.exec(await read("driver/nvidia/version"))?.[1],
      dockerHost: socket === HERE ? undefined : socket,
      ollama: await readOllama(ollamaUrl, ports.includes(ollamaPort) ? addressOf(sockets, ollamaPort) : undefined),
    }),
  };
}

function dockerFacts(docker: DockerFacts<ContainerState>): HostFacts["docker"] {
  if (!docker.reachable) return docker;
  const { gpuRuntime, missingBridge, containers } = docker;
  const ours = containers.flatMap(({ name, labels, ports, gpuMemoryUtilization }) => {
    const machine = labels[MACHINE_LABEL];
    const published = ports.map(({ host }) => host);
    return machine === undefined ? [] : [{ name, machine, ports: published, ...defined({ gpuMemoryUtilization }) }];
  });
  return { reachable: true, gpuRuntime, ours, ...defined({ missingBridge }) };
}

async function gpusIn(folder: string): Promise<string[]> {
  const gpus = await readdir(folder).catch(() => []);
  const texts = gpus.sort().map((gpu) => readFile(join(folder, gpu, "information"), "utf8").catch(() => ""));
  return (await Promise.all(texts)).map((text) => /^Model:\s*(.+)$/m.exec(text)?.[1]?.trim() ?? "NVIDIA GPU");
}

async function modelCache({ env, home, freeGB: room }: Sources): Promise<HostFacts["modelCache"]> {
  const usual = join(home, ".cache/huggingface");
  const path = env.HF_HOME?.startsWith("/") ? env.HF_HOME.replace(/\/+$/, "") : usual;
  const free = await room(path);
  return { path, usual: path === usual, models: cachedModels(path), ...defined({ freeGB: free }) };
}

/** Room for files of ours, by the nearest folder that is there. */
async function freeGB(path: string): Promise<number | undefined> {
  for (let at = path; ; at = dirname(at)) {
    const found = await statfs(at).catch(() => undefined);
    if (found !== undefined) return Math.floor((found.bavail * found.bsize) / BYTES_PER_GB);
    if (dirname(at) === at) return undefined;
  }
}

function onPath(program: string, { PATH = "" }: NodeJS.ProcessEnv): boolean {
  return PATH.split(delimiter).some((folder) => folder !== "" && isExecutable(join(folder, program)));
}
