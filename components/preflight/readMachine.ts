import { dirname } from "node:path";
import { defined } from "@local-serving/base/faults/defined";
import { HERE } from "@local-serving/machines/address";
import { readHardware } from "@local-serving/machines/devices/hardware";
import { recognise } from "@local-serving/machines/devices/recognise";
import { readDocker, UP } from "@local-serving/machines/docker/engine";
import { type Files, filesOf } from "@local-serving/machines/files";
import { readListeners } from "@local-serving/machines/listeners";
import { parseMeminfo } from "@local-serving/machines/memory";
import { FEATURES } from "../features";
import type { MachinePlan } from "../plan";
import { serversOn } from "../planned";
import { readKernel } from "../supply";
import { readNeeds } from "./fetch";
import { oursOn } from "./ourContainers";
import { readOwnFolders } from "./ownFolders";
import { readOnDemand } from "./readOnDemand";
import { readSimpleServer } from "./readSimpleServer";
import type { DirectoryFacts, MachineFacts } from "./types";
import { containersAsApplied } from "./unweighedModels";
import { faultyVariables } from "./variables";

/** Reads everything the preflight judges. It only ever reads, instance A included. */
export async function readMachine(machine: MachinePlan): Promise<MachineFacts> {
  const files = filesOf(machine);
  const meminfo = files.text("/proc/meminfo");
  const ownFolders = await readOwnFolders(machine, files);
  const [
    docker,
    listeners,
    directories,
    fileFolders,
    simpleServer,
    ofFeatures,
    kernel,
    device,
    onDemand,
  ] = await Promise.all([
    readDocker(machine.dockerHost, [...oursOn(machine), ...UP]),
    readListeners(portsOf(machine), "/proc", files),
    Promise.all(
      [...new Set(serversOn(machine).map((server) => server.modelCache))].map((path) =>
        readDirectory(path, files),
      ),
    ),
    Promise.all([
      ...foldersToWrite(machine).map((path) => readRealDirectory(path, files)),
      ...foldersToWrite(machine, true).map(async (path) => {
        const { problem } = await readRealDirectory(path, filesOf({ dockerHost: HERE }));
        return { path: `${path} of this computer`, ...defined({ problem }) };
      }),
    ]),
    readSimpleServer(machine, files),
    Promise.all(FEATURES.map((each) => each.preflight.read(machine, files, meminfo))),
    readKernel(files),
    // What nobody declared isn't looked for.
    machine.device === undefined ? undefined : readHardware(files).then(recognise),
    readOnDemand(machine, files),
  ]);
  const memory = parseMeminfo((await meminfo) ?? "");
  const needs = docker.reachable ? await readNeeds(machine, { trustsCache: true }) : undefined;
  return {
    docker,
    listeners,
    directories,
    fileFolders,
    ...(ownFolders.length === 0 ? {} : { ownFolders }),
    kernel,
    faultyVariables: faultyVariables(machine),
    ofFeatures,
    asApplied: await containersAsApplied(machine, files),
    ...defined({ simpleServer, memory, needs, onDemand, device: device?.id }),
  };
}

/** Ports that are to be ours, or instance A's. */
function portsOf(machine: MachinePlan): number[] {
  const { hostInstance, onDemand, containers } = machine;
  return [
    ...(hostInstance === "none" ? [] : [hostInstance.port]),
    ...(onDemand === undefined ? [] : [onDemand.port]),
    ...containers.flatMap(({ ports }) => ports.map(({ host }) => host)),
    ...FEATURES.flatMap((each) => each.preflight.ports(machine)).map(({ port }) => port),
  ];
}

/**
 * Folders of the files that we write without root, on the machine or here; the simple server's
 * drop-in is not among them.
 */
function foldersToWrite(machine: MachinePlan, here?: true): string[] {
  const files = machine.files.filter(
    (file) => file.role !== "simple-server-dropin" && file.here === here,
  );
  return [
    ...new Set([...files, ...(here ? [] : machine.secretFiles)].map((file) => dirname(file.path))),
  ];
}

/**
 * As `readDirectory`, and without a symbolic link on the way: through one, something else would be
 * written.
 */
async function readRealDirectory(path: string, files: Files): Promise<DirectoryFacts> {
  const facts = await readDirectory(path, files);
  for (let at = path; facts.problem === undefined; at = dirname(at)) {
    const real = await files.realPath(at);
    if (real === undefined) continue;
    if (real === at) break;
    return { path, problem: `${at} leads through a symbolic link to ${real}; give the real path` };
  }
  return facts;
}

/** A directory that is missing is judged by its nearest parent: it is going to be made. */
async function readDirectory(path: string, files: Files): Promise<DirectoryFacts> {
  let at = path;
  for (;;) {
    const found = await files.state(at);
    if (typeof found !== "object" && dirname(at) !== at) {
      at = dirname(at);
      continue;
    }
    if (typeof found !== "object" || found.kind !== "folder")
      return { path, problem: `${at} is not a directory` };
    return (await files.may(at, "write"))
      ? { path }
      : { path, problem: `no right to write in ${at}` };
  }
}
