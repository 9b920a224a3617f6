import { Failed } from "@local-serving/base/commandLine/exit";
import { defined } from "@local-serving/base/faults/defined";
import { type ContainerState, readContainers } from "@local-serving/machines/docker/containers";
import { filesOf } from "@local-serving/machines/files";
import { parseMeminfo } from "@local-serving/machines/memory";
import { readAppliedPlan } from "../../../components/evidence";
import type { MachinePlan } from "../../../components/plan";
import { serversOn } from "../../../components/planned";
import { readOtherStack } from "../../../components/preflight";
import { type Locate, placeOf } from "../../../components/settings";
import { policiesOn } from "../../plan/judgedPlan";
import type { Stack, SwapFacts, UpdateFacts } from "../../rules/picture";
import { SIGNS } from "../../rules/registry";
import { scanContainer } from "../../sees/containerLog";
import { readGpu } from "../../sees/gpu";
import { type Host, hostOf } from "../../sees/host";
import { type LogReading, withoutCrash } from "../../sees/log/logReading";
import { offNetworksOn } from "../../sees/network";
import { hasOnDemand, llamaSwapOf, seeOnDemand } from "../../sees/onDemand/onDemand";
import { swapUnit } from "../../sees/onDemand/swapFiles";
import { tunnelTo } from "../../sees/tunnel";
import { onItsMachines } from "../../stack/onMachines";
import { readOneMachine } from "../../stack/readStack";
import { type KeptResult, lastVerify } from "../../verify/lastVerify";
import { scanProbes } from "./fromFiles";

/** Hours after which a result of `serving verify`, or a crash, says nothing about today. */
const FRESH_HOURS = 24;

/** What is known before the machine is read. */
interface Before {
  /** What is said before the first `up`: then no container and no file is missing. */
  readonly nothingApplied?: string;
  /** The state of the stack has nothing. */
  readonly isNew?: boolean;
  /** What `up` would do. */
  readonly update?: UpdateFacts;
}

/**
 * Reads the machine: containers and their logs, the kernel's log, memory, sockets, files, and what
 * `verify` last found.
 */
export async function fromMachine(
  stack: Pick<Stack, "plan" | "machines" | "file" | "refusals">,
  { nothingApplied, isNew = false, update }: Before = {},
) {
  const { plan: machine, machines, file: stackFile } = stack;
  const names = machine.containers.map(({ name }) => name);
  const { containers, named, logs: own, dockerProblem } = await containersOn(machine, names);
  const ownOnes = { machines: machines.map(({ name }) => name), isNew };
  const otherStack = await readOtherStack(machine, ownOnes);
  const refused = [...stack.refusals, ...(update?.refused ?? [])];
  const isRefused = otherStack !== undefined || refused.length > 0;
  const elsewhere = await otherContainers(machine, machines);
  const read = await readThere(machine);
  const kept = await lastVerify({ stackFile, machine: machine.name });
  const { fresh, stale } = byAge(kept, named, machine);
  const probes = fresh.length === 0 ? undefined : fresh;
  const logs = [
    ...own,
    ...elsewhere.logs,
    ...read.logs,
    ...(probes === undefined ? [] : [await scanProbes(probes)]),
  ];
  const notes = [
    // It tells to run `up`.
    ...(nothingApplied === undefined || isRefused ? [] : [nothingApplied]),
    ...read.notes,
    ...elsewhere.notes,
  ];
  const old = stale.map(({ name }) => name).join(", ");
  if (old !== "")
    notes.push(
      `Results of the last \`serving verify\` that are older than what runs now were not used: ${old}.`,
    );
  const docker =
    dockerProblem === undefined
      ? {
          containers: [...containers, ...elsewhere.containers],
          offNetworks: await offNetworksOn(hostOf(machine.dockerHost), machine.containers),
          allContainers: nothingApplied === undefined,
        }
      : defined({ dockerProblem: names.length > 0 ? dockerProblem : undefined });
  return {
    notes: [...notes, ...cutShortNotes(logs)],
    facts: {
      ...docker,
      ...read.facts,
      ...(nothingApplied === undefined ? {} : { files: [] }),
      ...defined({ probes, otherStack, update }),
      ...(probes === undefined && kept.length > 0 ? { staleProbes: kept.length } : {}),
      logs,
    },
  };
}

/**
 * Every container of a machine's engine, those of these names with their logs; or why the engine
 * doesn't answer.
 */
async function containersOn({ dockerHost }: MachinePlan, names: readonly string[]) {
  const logs: LogReading[] = [];
  try {
    const containers = await readContainers(dockerHost);
    const named = containers.filter(({ name }) => names.includes(name));
    for (const { name, startedAt } of named) {
      const log = await scanContainer(name, dockerHost, SIGNS);
      if (log !== undefined) logs.push(isOfToday(startedAt) ? log : withoutCrash(log));
    }
    return { containers, named, logs };
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    return { containers: [], named: [], logs, dockerProblem: error.message };
  }
}

/** The containers that servers of this machine have on others, and their logs. */
async function otherContainers(machine: MachinePlan, machines: readonly MachinePlan[]) {
  const read = {
    containers: [] as ContainerState[],
    logs: [] as LogReading[],
    notes: [] as string[],
  };
  const all = serversOn(machine).flatMap((server) => onItsMachines({ machine, server }, machines));
  const elsewhere = all.filter((each) => each.machine.name !== machine.name);
  for (const there of new Set(elsewhere.map((each) => each.machine))) {
    const names = elsewhere.flatMap((each) =>
      each.machine === there ? each.server.container.name : [],
    );
    const { named, logs, dockerProblem } = await containersOn(there, names);
    read.containers.push(...named);
    read.logs.push(...logs);
    if (dockerProblem !== undefined)
      read.notes.push(`${names.join(", ")} on ${there.name} could not be read: ${dockerProblem}`);
  }
  return read;
}

/** A crash that a server has run a day since is history. */
const isOfToday = (startedAt: string): boolean =>
  Date.parse(startedAt) > Date.now() - FRESH_HOURS * 3_600_000;

async function readThere(machine: MachinePlan) {
  const { simpleServer } = machine;
  const reader = hostOf(machine.dockerHost);
  const kernel = await reader.kernelLog(SIGNS);
  const journal =
    simpleServer.mode === "host" ? await reader.journal(simpleServer.unit, SIGNS) : undefined;
  const meminfo = parseMeminfo(await reader.meminfo());
  const swap = machine.onDemand && (await reader.journal(machine.onDemand.unit, SIGNS, "user"));
  return {
    logs: [kernel, journal, swap].filter((log) => log !== undefined),
    notes:
      kernel === undefined
        ? ["The kernel's log can't be read: give it with --dmesg FILE (`sudo dmesg > FILE`)."]
        : [],
    facts: {
      ...defined({ meminfo, gpu: await readGpu(reader), onDemand: await onDemandOf(machine) }),
      sockets: await reader.sockets(),
      addresses: await reader.addresses(),
      ...(await filesThere(machine, reader)),
    },
  };
}

/** The files of the plan as they are found, and which of them are as they were applied. */
async function filesThere(machine: MachinePlan, { fileState }: Pick<Host, "fileState">) {
  const statesOf = async (plan: MachinePlan) =>
    Promise.all(
      // The applied plan is a record, not a setting.
      plan.files.filter(({ role }) => role !== "applied-plan").map((file) => fileState(file)),
    );
  const files = await statesOf(machine);
  if (files.every(({ state }) => state === "same")) return { files };
  const applied = await readAppliedPlan(machine, filesOf(machine));
  const kept = "plan" in applied ? await statesOf(applied.plan) : [];
  const same = kept.flatMap(({ path, state }) => (state === "same" ? path : []));
  return { files, filesAsApplied: same };
}

/** What llama-swap, its unit, Docker and the wrapper say; `undefined` where Docker says nothing. */
async function onDemandOf(machine: MachinePlan): Promise<SwapFacts | undefined> {
  if (!hasOnDemand(machine)) return undefined;
  const host = hostOf(machine.dockerHost);
  const tunnel = await tunnelTo(machine);
  try {
    const seen = await seeOnDemand(machine, host, await llamaSwapOf(machine, tunnel, host));
    return { seen, ...defined({ unit: await swapUnit(machine.onDemand, host) }) };
  } catch (error) {
    if (error instanceof Failed) return undefined;
    throw error;
  } finally {
    tunnel.close();
  }
}

/**
 * Kept results that are about what runs now: of today, and newer than the start of the server that
 * was asked, or of every container where it was no server. Of the others, failures.
 */
function byAge(
  kept: readonly KeptResult[],
  containers: readonly ContainerState[],
  machine: MachinePlan,
) {
  const servers = new Set(serversOn(machine).map(({ container }) => container.name));
  const today = Date.now() - FRESH_HOURS * 3_600_000;
  const isFresh = ({ at, target }: KeptResult) => {
    const asked = servers.has(target)
      ? containers.filter(({ name }) => name === target)
      : containers;
    const starts = asked
      .map(({ startedAt }) => Date.parse(startedAt))
      .filter((time) => !Number.isNaN(time));
    return Date.parse(at) > Math.max(today, ...starts);
  };
  return {
    fresh: kept.filter(isFresh),
    stale: kept.filter((each) => each.status === "fail" && !isFresh(each)),
  };
}

/** What was not read of logs that are too long, or that never end. */
export const cutShortNotes = (logs: readonly LogReading[]): string[] =>
  logs.flatMap(({ name, cutShort }) => (cutShort === undefined ? [] : [`${name}: ${cutShort}.`]));

/** A stack, and where the settings are that it was read from. */
export interface ReadStack extends Stack {
  readonly locate: Locate;
}

/**
 * A machine's part of a stack file (the first one's where none is named), or of another text of it,
 * its plan, and what the policies refuse of it.
 */
export function readMachineStack(file: string, wanted?: string, as?: string): ReadStack {
  const { text, name, stack, settings, machine, plan } = readOneMachine(file, wanted, as);
  const judged = policiesOn({ settings: stack, plan });
  return {
    file,
    text,
    machine: name,
    settings,
    plan: machine,
    machines: plan.machines,
    refusals: judged.filter(({ verdict }) => verdict === "refused"),
    locate: (path) => placeOf(stack, path),
    warnings: plan.warnings,
    planned: (changed) => readMachineStack(file, name, changed),
  };
}
