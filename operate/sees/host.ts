import { Failed } from "../../faults/fault";
import { type JsonObject, jsonIn, objectsIn } from "../../faults/json";
import { isOverSsh } from "../../machines/address";
import { type ContainerState, containersOf } from "../../machines/docker/containers";
import { docker, otherAnswer } from "../../machines/docker/docker";
import { computerOf, type Files, filesOf, type Said } from "../../machines/files";
import { type Listener, readListeners } from "../../machines/listeners";
import { type MemoryLines, memoryLines } from "./containerLog";

/** A file, or another thing at a path. */
export interface FileOnDisk {
  /** Permissions as four octal digits (`0644`). */
  readonly mode: string;
  /** Absent of what is no file, or can't be read. */
  readonly text: string | undefined;
}

/** Everything that probes read on the machine, apart from its HTTP servers. It only reads. */
export interface Host {
  readonly env: NodeJS.ProcessEnv;
  /** Output of a docker command. Throws `Failed` with docker's own words. */
  readonly docker: (args: readonly string[]) => Promise<string>;
  /**
   * What an inference server's log says of memory since its last start, its start gate included;
   * nothing if there is no such container.
   */
  readonly memoryLines: (container: string) => Promise<MemoryLines>;
  /** What is at a path of the machine, or of this computer. */
  readonly file: (path: string, here?: true) => Promise<FileOnDisk | undefined>;
  readonly meminfo: () => Promise<string>;
  /** Runs a program that only asks. */
  readonly ask: (words: readonly string[]) => Promise<Said>;
  /** The process that listens on a TCP port, as far as the kernel lets us see it. */
  readonly listener: (port: number) => Promise<Omit<Listener, "port"> | undefined>;
  /** Start time of a process in ticks since boot: the same number means the same process. */
  readonly startTime: (pid: number) => Promise<string | undefined>;
  /** Memory in GiB that a process holds by itself (VmRSS). */
  readonly residentGiB: (pid: number) => Promise<number | undefined>;
  /** IPv4 addresses by which other machines reach this one. */
  readonly lanAddresses: () => Promise<readonly string[]>;
}

const KIB_PER_GIB = 1024 ** 2;

/**
 * Position of the start time in /proc/PID/stat, counted behind the program's name (proc(5): field
 * 22).
 */
const START_TIME_FIELD = 19;

/**
 * Interfaces of container engines and tunnels: their addresses lead nowhere from another machine.
 */
const NOT_THE_LAN = /^(lo|docker|br-|veth|virbr|cni|flannel|podman|tun|tap|wg)/;

/** Seconds that a command of a probe may take. */
const DOCKER_SECONDS = 20;

/** A machine that is here or reached over ssh; of any other one only its Docker engine is asked. */
export function hostOf(dockerHost: string): Host {
  const files = filesOf({ dockerHost });
  return {
    env: process.env,
    docker: (args) => docker(args, DOCKER_SECONDS, dockerHost),
    memoryLines: (container) => memoryLines(container, dockerHost, DOCKER_SECONDS),
    file: (path, here) => readFileOnDisk(path, filesOf(computerOf({ dockerHost }, { here }))),
    meminfo: async () => (await files.text("/proc/meminfo")) ?? "",
    ask: (words) => files.ask(words, DOCKER_SECONDS),
    listener: async (port) => (await readListeners([port], "/proc", files))[0],
    startTime: async (pid) => {
      const text = (await files.text(`/proc/${pid}/stat`)) ?? "";
      return text.slice(text.lastIndexOf(") ") + 2).split(" ")[START_TIME_FIELD];
    },
    residentGiB: async (pid) => {
      const text = (await files.text(`/proc/${pid}/status`)) ?? "";
      const kib = /^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1];
      return kib === undefined ? undefined : Number(kib) / KIB_PER_GIB;
    },
    lanAddresses: async () => {
      // What the network reaches is asked from here, by the name that ssh takes.
      if (isOverSsh({ dockerHost })) return [new URL(dockerHost).hostname];
      return (await files.addresses()).flatMap(({ name, address }) =>
        NOT_THE_LAN.test(name) ? [] : [address],
      );
    },
  };
}

/**
 * What `docker inspect` says of a container; `undefined` if there is none. Throws `Failed` if
 * Docker can't tell.
 */
export async function inspected(
  { docker }: Pick<Host, "docker">,
  name: string,
): Promise<JsonObject | undefined> {
  const asked = ["inspect", "--type", "container", name];
  try {
    const answer = await docker(asked);
    const found = jsonIn(answer);
    if (!Array.isArray(found)) throw otherAnswer(asked, "a list in JSON", answer);
    return objectsIn(found)[0];
  } catch (error) {
    if (error instanceof Failed && /No such (?:object|container)/i.test(error.message))
      return undefined;
    throw error;
  }
}

/** The same as a state. */
export const inspect = async (
  host: Pick<Host, "docker">,
  name: string,
): Promise<ContainerState | undefined> => containersOf([await inspected(host, name)])[0];

async function readFileOnDisk(path: string, files: Files): Promise<FileOnDisk | undefined> {
  const found = await files.state(path);
  if (typeof found === "string") return undefined;
  // A pipe or a device would keep us waiting, or have no end.
  const text = found.kind === "file" ? await files.text(path) : undefined;
  const mode = found.mode.toString(8).padStart(4, "0");
  return { mode, text };
}
