import { access, constants, readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { parseMeminfo } from "../plan/evidence";
import type { MachinePlan } from "../plan/types";
import { readDocker } from "./dockerEngine";
import { readListeners } from "./listeners";
import type { DirectoryFacts, MachineFacts } from "./types";

/** Reads everything the preflight judges. It only ever reads, instance A included. */
export async function readMachine(machine: MachinePlan): Promise<MachineFacts> {
  const ports = machine.containers.flatMap((container) => container.ports.map((port) => port.host));
  const hostPort = machine.hostInstance === "none" ? [] : [machine.hostInstance.port];
  const [docker, meminfo, listeners, directories] = await Promise.all([
    readDocker(machine.dockerHost, machine.name),
    readFile("/proc/meminfo", "utf8").catch(() => ""),
    readListeners([...hostPort, ...ports]),
    Promise.all([...new Set(machine.inferenceServers.map((server) => server.modelCache))].map(readDirectory)),
  ]);
  const memory = parseMeminfo(meminfo);
  return { docker, listeners, directories, ...(memory === undefined ? {} : { memory }) };
}

/** A directory that is missing is judged by its nearest parent: it is going to be made. */
async function readDirectory(path: string): Promise<DirectoryFacts> {
  let at = path;
  for (;;) {
    const found = await stat(at).catch(() => undefined);
    if (found === undefined && dirname(at) !== at) {
      at = dirname(at);
      continue;
    }
    if (found === undefined || !found.isDirectory()) return { path, problem: `${at} is not a directory` };
    const usable = await access(at, constants.W_OK | constants.X_OK).then(
      () => true,
      () => false,
    );
    return usable ? { path } : { path, problem: `no right to write in ${at}` };
  }
}
