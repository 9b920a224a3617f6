import { delimiter, join } from "node:path";
import { Failed } from "@local-serving/base/commandLine/exit";
import { defined } from "@local-serving/base/faults/defined";
import { BYTES_PER_GB, hundredths } from "@local-serving/base/units/memory";
import { HERE, isHere, type Listening } from "@local-serving/machines/address";
import { deviceOf, OTHER_DEVICE } from "@local-serving/machines/devices/devices";
import { readHardware } from "@local-serving/machines/devices/hardware";
import { hasNvidia, recognise, showsNoGpu } from "@local-serving/machines/devices/recognise";
import type { ContainerState } from "@local-serving/machines/docker/containers";
import { type DockerFacts, RUNNING } from "@local-serving/machines/docker/engine";
import { diskFor } from "@local-serving/machines/files";
import { homeOn, onMachine } from "@local-serving/machines/home";
import { cachedModels, cacheOn } from "@local-serving/machines/hubCache";
import type { Listener, ListeningSocket } from "@local-serving/machines/listeners";
import { type Meminfo, parseMeminfo } from "@local-serving/machines/memory";
import { CLIENTS } from "../../../components/clients";
import { appliedMachines, operatorHome } from "../../../components/evidence";
import { LABEL } from "../../../components/planned";
import { machine } from "../../../components/settings";
import { readKernel } from "../../../components/supply";
import { hostOf } from "../host";
import { originFromHere, tunnelTo } from "../tunnel";
import type { HostFacts } from "./facts";
import { readGpuUsers } from "./gpuUsers";
import { readOllama } from "./ollama";
import type { Sources } from "./sources";
import { addressOf, inUrl, readHostServers } from "./vllmServers";

/** What a machine has before anything on it is asked. */
interface Looked {
  readonly memory: Meminfo;
  readonly docker: DockerFacts<ContainerState>;
  /** Running containers, where Docker answers. */
  readonly running: readonly ContainerState[];
  /** Those of them that a stack of this project made. */
  readonly ours: readonly ContainerState[];
  readonly sockets: readonly ListeningSocket[];
  /** Every TCP port that something listens on. */
  readonly ports: readonly number[];
  readonly listeners: readonly Listener[];
}

/** Looks at a machine, and changes nothing. Throws `Failed` where it isn't Linux. */
export async function readHost(sources: Sources): Promise<HostFacts> {
  const { dockerHost, files, proc, home } = sources;
  const looked = await look(sources);
  const { memory, docker, ports } = looked;
  const hostname = (await files.text(join(proc, "sys/kernel/hostname"))) ?? "";
  const usualHome = homeOn({ dockerHost }, { home: operatorHome() });
  const { servers, ollama } = await askServers(sources, looked);
  return {
    readAt: new Date().toISOString(),
    host: hostname.trimEnd() || "unknown",
    ...(await readKernel(files, proc)),
    ...(await deviceFacts(sources, docker)),
    ...(await readGpuUsers(sources, { ...looked, servers, ollama })),
    memory: {
      totalGiB: hundredths(memory.totalGiB),
      availableGiB: hundredths(memory.availableGiB),
    },
    docker: dockerFacts(docker),
    ...(await appliedHere(sources)),
    servers,
    ports: [...ports],
    modelCache: await modelCache(sources),
    clients: await clientsOnPath(sources),
    ...defined({
      dockerHost: dockerHost === HERE ? undefined : dockerHost,
      home: isHere(sources) || home === usualHome ? undefined : home,
      ollama,
    }),
  };
}

async function look(sources: Sources): Promise<Looked> {
  const host = hostOf(sources.dockerHost, sources);
  const memory = parseMeminfo(await host.meminfo());
  if (memory === undefined)
    throw new Failed(
      `${sources.proc}/meminfo can't be read: run this on the machine itself, or with --on ssh://user@host, or give what \`serving init --facts\` printed there with --from FILE.`,
    );
  const docker = await host.engine(RUNNING);
  const running = docker.reachable ? docker.containers : [];
  const ours = running.filter(({ labels }) => labels[LABEL.machine] !== undefined);
  const sockets = await host.sockets();
  const ports = [...new Set(sockets.map(({ port }) => port))].sort((a, b) => a - b);
  return { memory, docker, running, ours, sockets, ports, listeners: await host.listeners(ports) };
}

/** Asks every vLLM that isn't ours, and an Ollama, what they serve. */
async function askServers(
  sources: Sources,
  { memory, running, ours, sockets, ports, listeners }: Looked,
): Promise<Pick<HostFacts, "servers" | "ollama">> {
  const { dockerHost, files, proc, usualPorts } = sources;
  const ollamaPort = Number(new URL(sources.ollamaUrl).port);
  // Over ssh only what may be a vLLM or an Ollama is knocked at.
  const asked = [
    ...usualPorts,
    ollamaPort,
    ...running.flatMap((each) => each.ports.map(({ host }) => host)),
    ...listeners.flatMap(({ port, argv }) =>
      argv?.some((word) => word.includes("vllm")) ? port : [],
    ),
  ];
  const at = (port: number) => ({ address: inUrl(addressOf(sockets, port)), port });
  const place = { name: new URL(dockerHost).hostname, dockerHost };
  const reach = ports.filter((port) => asked.includes(port)).map(at);
  const tunnel = await tunnelTo({ ...place, reach });
  const origin = (listening: Listening) => originFromHere(place, listening, tunnel).url;
  const isOurs = (port: number) =>
    ours.some((each) => each.ports.some(({ host }) => host === port));
  try {
    const servers = await readHostServers({
      files,
      proc,
      totalGiB: memory.totalGiB,
      sockets,
      listeners: listeners.filter(({ port }) => !isOurs(port)),
      containers: running.filter((each) => !ours.includes(each)),
      usualPorts,
      origin,
    });
    const ollama = await readOllama(
      files,
      ports.includes(ollamaPort)
        ? {
            address: addressOf(sockets, ollamaPort),
            url: origin(at(ollamaPort)),
            container: running.find((each) => each.ports.some(({ host }) => host === ollamaPort))
              ?.name,
          }
        : undefined,
    );
    return { servers, ...defined({ ollama }) };
  } finally {
    tunnel.close();
  }
}

function dockerFacts(docker: DockerFacts<ContainerState>): HostFacts["docker"] {
  if (!docker.reachable) return docker;
  const { gpuRuntime, missingBridge, containers } = docker;
  const ours = containers.flatMap(({ name, labels, ports, gpuMemoryUtilization }) => {
    const machine = labels[LABEL.machine];
    const published = ports.map(({ host }) => host);
    return machine === undefined
      ? []
      : [{ name, machine, ports: published, ...defined({ gpuMemoryUtilization }) }];
  });
  return { reachable: true, gpuRuntime, ours, ...defined({ missingBridge }) };
}

/** The machines whose plan `up` left in the usual folder. */
async function appliedHere({ files, home }: Sources): Promise<Pick<HostFacts, "applied">> {
  const folder = onMachine(machine.shape.stateDirectory.parse(undefined), { home });
  const applied = await appliedMachines(files, folder);
  return applied.length === 0 ? {} : { applied };
}

/** What the machine is, as far as it shows that. */
async function deviceFacts({ files, proc, sys }: Sources, docker: Looked["docker"]) {
  const hardware = await readHardware(files, { proc, sys });
  const shown = recognise(hardware);
  // Docker's list may be of a GPU that has gone, so that it counts only where nothing else tells.
  const { gpus, gpuMemoryGiB: memory, dmi, tree } = hardware;
  const isBare = shown?.id === OTHER_DEVICE && showsNoGpu(hardware);
  const isListed = isBare && docker.reachable && docker.listsNvidia === true;
  const device = isListed ? undefined : shown;
  const isUnshown = gpus.length === 0 && (hasNvidia(hardware) || isListed);
  return {
    gpus: [...gpus],
    ...defined({
      device: device?.id,
      product: dmi || tree || undefined,
      gpuMemoryGiB: memory === "none" ? undefined : memory && hundredths(memory),
      unshown:
        isUnshown || (gpus.length === 0 && deviceOf(device?.id)?.maker === "NVIDIA")
          ? ("NVIDIA" as const)
          : undefined,
    }),
  };
}

async function modelCache(sources: Sources): Promise<HostFacts["modelCache"]> {
  const { env, home, files } = sources;
  const usual = join(home, ".cache/huggingface");
  const path = env.HF_HOME?.startsWith("/") ? env.HF_HOME.replace(/\/+$/, "") : usual;
  const disk = await diskFor(path, files);
  const freeGB = disk && Math.floor(disk.freeBytes / BYTES_PER_GB);
  return {
    path,
    usual: path === usual,
    models: cachedModels(await cacheOn(sources, path)),
    ...defined({ freeGB }),
  };
}

/** The programs of coding clients that can be run there. */
async function clientsOnPath({ env, files }: Sources): Promise<string[]> {
  const programs = CLIENTS.flatMap((client) => ("program" in client ? client.program.name : []));
  const folders = (env.PATH ?? "").split(delimiter).filter(Boolean);
  const paths = folders.flatMap((folder) => programs.map((program) => join(folder, program)));
  const script = 'for each; do test -f "$each" && test -x "$each" && echo "$each"; done';
  const found = (await files.ask(["sh", "-c", script, "sh", ...paths])).out.split("\n");
  return programs.filter((program) => found.some((path) => path.endsWith(`/${program}`)));
}
