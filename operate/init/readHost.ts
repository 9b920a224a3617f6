import { delimiter, join } from "node:path";
import { Failed } from "../../commandLine/exit";
import { CLIENTS } from "../../components/clients";
import { operatorHome } from "../../components/evidence";
import { LABEL } from "../../components/planned";
import { OLLAMA_URL, whyNot } from "../../components/preflight";
import { readKernel } from "../../components/supply";
import { defined } from "../../faults/defined";
import { HERE, isHere } from "../../machines/address";
import type { ContainerState } from "../../machines/docker/containers";
import type { DockerFacts } from "../../machines/docker/engine";
import { RUNNING, readDocker } from "../../machines/docker/engine";
import { diskFor, type Files, filesOf } from "../../machines/files";
import { homeOn } from "../../machines/home";
import { cachedModels, cacheOn } from "../../machines/hubCache";
import { readListeners, readSockets } from "../../machines/listeners";
import { parseMeminfo } from "../../machines/memory";
import { BYTES_PER_GB, hundredths } from "../../units/memory";
import { originFromHere, tunnelTo } from "../sees/tunnel";
import type { HostFacts } from "./facts";
import { addressOf, inUrl, readHostServers, readOllama } from "./readServers";

/** Where the machine is looked at. */
export interface Sources {
  readonly dockerHost: string;
  readonly files: Files;
  readonly proc: string;
  /** Variables of whoever logs in there. */
  readonly env: Readonly<Record<"PATH" | "HF_HOME", string | undefined>>;
  readonly home: string;
  readonly ollamaUrl: string;
  /**
   * Ports at which another user's process is asked whether it is a vLLM; people count up from
   * vLLM's own.
   */
  readonly usualPorts: readonly number[];
}

const USUAL = {
  ...{ proc: "/proc", ollamaUrl: OLLAMA_URL },
  usualPorts: Array.from({ length: 10 }, (_, index) => 8000 + index),
};

export function thisComputer(): Sources {
  const { DOCKER_HOST: given, PATH, HF_HOME } = process.env;
  const dockerHost = given?.startsWith("unix:///") ? given : HERE;
  return {
    ...USUAL,
    dockerHost,
    files: filesOf({ dockerHost }),
    env: { PATH, HF_HOME },
    home: operatorHome(),
  };
}

/** Longer than ssh itself takes to give up. */
const CONNECT_SECONDS = 30;

/** Prints its home and two variables of a login behind whatever its profile says. */
const LOGIN = 'cd && printf "\\n%s\\n%s\\n%s" "$(pwd -P)" "$HF_HOME" "$PATH"';

/** A machine over ssh. Throws `Failed`, with what to do, where ssh doesn't get there. */
export async function computerAt(dockerHost: string): Promise<Sources> {
  const files = filesOf({ dockerHost });
  const { code, out, err } = await files.ask(["sh", "-lc", LOGIN], CONNECT_SECONDS);
  if (code !== 0)
    throw new Failed(whyNot({ name: new URL(dockerHost).hostname, dockerHost }, err).message);
  const [home = "", HF_HOME, PATH] = out.split("\n").slice(-3);
  return { ...USUAL, dockerHost, files, env: { PATH, HF_HOME }, home };
}

/** Looks at a machine, and changes nothing. Throws `Failed` where it isn't Linux. */
export async function readHost(sources: Sources): Promise<HostFacts> {
  const { dockerHost, files, proc, home, ollamaUrl } = sources;
  const read = async (file: string) => ((await files.text(join(proc, file))) ?? "").trimEnd();
  const memory = parseMeminfo(await read("meminfo"));
  if (memory === undefined)
    throw new Failed(
      `${proc}/meminfo can't be read: run this on the machine itself, or with --on ssh://user@host, or give what \`serving init --facts\` printed there with --from FILE.`,
    );
  const docker = await readDocker(dockerHost, RUNNING);
  const sockets = await readSockets(proc, files);
  const ports = [...new Set(sockets.map(({ port }) => port))].sort((a, b) => a - b);
  const listeners = await readListeners(ports, proc, files);
  const running = docker.reachable ? docker.containers : [];
  const ours = running.filter(({ labels }) => labels[LABEL.machine] !== undefined);
  const isOurs = (port: number) =>
    ours.some((each) => each.ports.some(({ host }) => host === port));
  const ollamaPort = Number(new URL(ollamaUrl).port);
  const at = (port: number) => ({ address: inUrl(addressOf(sockets, port)), port });
  // Over ssh only what may be a vLLM or an Ollama is knocked at.
  const asked = [
    ...[
      ...sources.usualPorts,
      ollamaPort,
      ...running.flatMap((each) => each.ports.map(({ host }) => host)),
    ],
    ...listeners.flatMap(({ port, argv }) =>
      argv?.some((word) => word.includes("vllm")) ? port : [],
    ),
  ];
  const place = { name: new URL(dockerHost).hostname, dockerHost };
  const tunnel = await tunnelTo({
    ...place,
    reach: ports.filter((port) => asked.includes(port)).map(at),
  });
  const { totalGiB } = memory;
  const usualHome = homeOn({ dockerHost }, { home: operatorHome() });
  try {
    return {
      readAt: new Date().toISOString(),
      host: (await read("sys/kernel/hostname")) || "unknown",
      ...(await readKernel(files, proc)),
      gpus: await gpusIn(join(proc, "driver/nvidia/gpus"), files),
      memory: { totalGiB: hundredths(totalGiB), availableGiB: hundredths(memory.availableGiB) },
      docker: dockerFacts(docker),
      servers: await readHostServers({
        files,
        proc,
        totalGiB,
        sockets,
        listeners: listeners.filter(({ port }) => !isOurs(port)),
        containers: running.filter((each) => !ours.includes(each)),
        usualPorts: sources.usualPorts,
        origin: (listening) => originFromHere(place, listening, tunnel).url ?? "",
      }),
      ports,
      modelCache: await modelCache(sources),
      clients: await clientsOnPath(sources),
      ...defined({
        dockerHost: dockerHost === HERE ? undefined : dockerHost,
        home: isHere(sources) || home === usualHome ? undefined : home,
        ollama: await readOllama(
          files,
          ports.includes(ollamaPort)
            ? {
                address: addressOf(sockets, ollamaPort),
                url: originFromHere(place, at(ollamaPort), tunnel).url ?? "",
              }
            : undefined,
        ),
      }),
    };
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

async function gpusIn(folder: string, files: Files): Promise<string[]> {
  const gpus = await files.names(folder);
  const texts = await Promise.all(gpus.map((gpu) => files.text(join(folder, gpu, "information"))));
  return texts.map((text = "") => /^Model:\s*(.+)$/m.exec(text)?.[1]?.trim() ?? "NVIDIA GPU");
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

const ASK_SECONDS = 20;

/** The programs of coding clients that can be run there. */
async function clientsOnPath({ env, files }: Sources): Promise<string[]> {
  const programs = CLIENTS.flatMap((client) => ("program" in client ? client.program.name : []));
  const folders = (env.PATH ?? "").split(delimiter).filter(Boolean);
  const paths = folders.flatMap((folder) => programs.map((program) => join(folder, program)));
  const script = 'for each; do test -f "$each" && test -x "$each" && echo "$each"; done';
  const found = (await files.ask(["sh", "-c", script, "sh", ...paths], ASK_SECONDS)).out.split(
    "\n",
  );
  return programs.filter((program) => found.some((path) => path.endsWith(`/${program}`)));
}
