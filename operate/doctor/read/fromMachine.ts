import { readFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { Failed } from "../../../commandLine/exit";
import type { MachinePlan } from "../../../components/plan/types";
import { parseMeminfo } from "../../../components/planned/evidence";
import type { PlannedFile } from "../../../components/planned/file";
import { isHere } from "../../../components/planned/reach";
import { type ContainerState, readContainers } from "../../containers/readContainers";
import type { Evidence, FileState } from "../evidence";
import type { LogReading } from "../scanLog";
import { scanProbes } from "./fromFiles";
import { keptProbes } from "./keptProbes";
import { scanProgram } from "./scanProgram";
import { readSockets } from "./sockets";

/** Newest lines of a container's log that are read: some days of a server that logs every ten seconds. */
const LOG_LINES = 50_000;
const KERNEL_LINES = 5_000;

/** A boot prints hundreds of lines; fewer than these are journalctl's words for "none that you may read". */
const FEWEST_KERNEL_LINES = 5;

/** Files that others may edit; the applied plan is a record and no setting. */
const RECORDS = ["applied-plan"];

/** What was read, and what could not be. */
export interface MachineReading {
  readonly evidence: Omit<Evidence, "stack" | "serverKey">;
  readonly notes: readonly string[];
}

/** Reads the machine: containers and their logs, the kernel's log, memory, sockets, files, and what `verify` last found. */
export async function fromMachine(machine: MachinePlan, stackFile: string): Promise<MachineReading> {
  const notes: string[] = [];
  const here = isHere(machine);
  const asked = await readContainers(machine.dockerHost).then(
    (containers) => ({ containers }),
    (error: unknown) => {
      if (error instanceof Failed) return { problem: error.message };
      throw error;
    },
  );
  const containers = "containers" in asked ? asked.containers : [];
  const logs = await containerLogs(machine, containers);
  if (!here) {
    notes.push(
      `${machine.name} is another computer: its memory, kernel log, sockets and files were not read.`,
    );
  } else {
    const kernel = await kernelLog();
    if (kernel === undefined)
      notes.push("The kernel's log can't be read: give it with --dmesg FILE (`sudo dmesg > FILE`).");
    else logs.push(kernel);
    const service = await serviceLog(machine);
    if (service !== undefined) logs.push(service);
  }
  const ours = containers.filter(({ name }) => machine.containers.some((each) => each.name === name));
  const { probes, notes: aboutProbes } = await keptProbes({ stackFile, machine: machine.name }, ours);
  if (probes !== undefined) logs.push(await scanProbes(probes));
  notes.push(...aboutProbes);
  const meminfo = here ? parseMeminfo(await readFile("/proc/meminfo", "utf8").catch(() => "")) : undefined;
  notes.push(...cutShortNotes(logs));
  return {
    notes,
    evidence: {
      logs,
      ...(probes === undefined ? {} : { probes }),
      ...("containers" in asked ? { containers, allContainers: true } : {}),
      ...("problem" in asked && machine.containers.length > 0 ? { dockerProblem: asked.problem } : {}),
      ...(meminfo === undefined ? {} : { meminfo }),
      ...(here
        ? {
            sockets: await readSockets(),
            addresses: ownAddresses(),
            files: await Promise.all(
              machine.files.filter(({ role }) => !RECORDS.includes(role)).map(fileState),
            ),
          }
        : {}),
    },
  };
}

/** What was not read of logs that are too long, or that never end. */
export function cutShortNotes(logs: readonly LogReading[]): string[] {
  return logs.flatMap(({ name, cutShort }) => (cutShort === undefined ? [] : [`${name}: ${cutShort}.`]));
}

async function containerLogs(
  machine: MachinePlan,
  containers: readonly ContainerState[],
): Promise<LogReading[]> {
  const ours = containers.filter(({ name }) => machine.containers.some((each) => each.name === name));
  const logs: LogReading[] = [];
  for (const { name } of ours) {
    const log = await scanProgram(
      { name: `docker logs ${name}`, kind: "container", container: name },
      ["docker", "logs", "--tail", String(LOG_LINES), name],
      { DOCKER_HOST: machine.dockerHost },
    );
    if (log !== undefined) logs.push(log);
  }
  return logs;
}

async function kernelLog(): Promise<LogReading | undefined> {
  const about = { name: "the kernel's log", kind: "kernel" } as const;
  const lines = String(KERNEL_LINES);
  const journal = await scanProgram(about, ["journalctl", "--dmesg", "--no-pager", "--lines", lines]);
  if (journal !== undefined && journal.lines >= FEWEST_KERNEL_LINES) return journal;
  return scanProgram(about, ["dmesg"]);
}

/** Ollama's journal, where the stack file has Ollama on the host. */
async function serviceLog(machine: MachinePlan): Promise<LogReading | undefined> {
  const { simpleServer } = machine;
  if (simpleServer.mode !== "host") return undefined;
  return scanProgram({ name: `journal of ${simpleServer.unit}`, kind: "service" }, [
    "journalctl",
    "--unit",
    simpleServer.unit,
    "--no-pager",
    "--lines",
    String(KERNEL_LINES),
  ]);
}

function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((each) =>
    (each ?? []).filter(({ family }) => family === "IPv4").map(({ address }) => address),
  );
}

async function fileState({ role, path, text }: PlannedFile): Promise<FileState> {
  try {
    return { role, path, state: (await readFile(path, "utf8")) === text ? "same" : "different" };
  } catch (error) {
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
    return { role, path, state: missing ? "missing" : "unreadable" };
  }
}
