import { Failed } from "@local-serving/base/faults/fault";
import { type JsonObject, jsonIn, objectsIn } from "@local-serving/base/faults/json";
import { isOverSsh } from "@local-serving/machines/address";
import { type ContainerState, containersOf } from "@local-serving/machines/docker/containers";
import { otherAnswer } from "@local-serving/machines/docker/docker";
import { filesOf, type Said } from "@local-serving/machines/files";
import { type Containers, containersOn } from "./container";
import { type ContainerLogs, containerLogsOn } from "./containerLog";
import { type SeenFiles, seenFilesOn } from "./file";
import { type Images, imagesOn } from "./image";
import { readVenv, type VenvEntry } from "./packageVersions";
import { type Processes, processesOn } from "./process";
import { type SystemLogs, systemLogsOn } from "./systemLogs";

/** Everything that is seen of a machine, apart from its HTTP servers. Looking changes nothing. */
export interface Host extends Containers, ContainerLogs, Images, SystemLogs, SeenFiles, Processes {
  readonly env: NodeJS.ProcessEnv;
  /** The text of /proc/meminfo; "" where it can't be read. */
  meminfo(): Promise<string>;
  /** IPv4 addresses of the machine. */
  addresses(): Promise<readonly string[]>;
  /** IPv4 addresses by which other machines reach this one. */
  lanAddresses(): Promise<readonly string[]>;
  /** Package versions in a Python environment, read by its own interpreter. */
  venv(path: string): Promise<VenvEntry>;
  /** Runs a program that only asks. */
  ask(words: readonly string[]): Promise<Said>;
}

/**
 * Interfaces of container engines and tunnels: their addresses lead nowhere from another machine.
 */
const NOT_THE_LAN = /^(lo|docker|br-|veth|virbr|cni|flannel|podman|tun|tap|wg)/;

/** A machine that is here or reached over ssh; of any other one only its Docker engine is asked. */
export function hostOf(
  dockerHost: string,
  { proc = "/proc", files = filesOf({ dockerHost }) } = {},
): Host {
  return {
    ...containersOn(dockerHost),
    ...containerLogsOn(dockerHost),
    ...imagesOn(dockerHost),
    ...systemLogsOn({ dockerHost }),
    ...seenFilesOn({ dockerHost }),
    ...processesOn(files, proc),
    env: process.env,
    meminfo: async () => (await files.text(`${proc}/meminfo`)) ?? "",
    addresses: async () => (await files.addresses()).map(({ address }) => address),
    lanAddresses: async () => {
      // What the network reaches is asked from here, by the name that ssh takes.
      if (isOverSsh({ dockerHost })) return [new URL(dockerHost).hostname];
      return (await files.addresses()).flatMap(({ name, address }) =>
        NOT_THE_LAN.test(name) ? [] : [address],
      );
    },
    venv: (path) => readVenv(path, { dockerHost }),
    ask: (words) => files.ask(words),
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
