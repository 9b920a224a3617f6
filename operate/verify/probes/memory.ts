import { utilizationOf } from "../../../components/inference-server/argv/argvUtilization";
import type { InferenceServerPlan } from "../../../components/inference-server/plannedServer";
import { readEngineLog } from "../../../components/kv";
import { totalFault } from "../../../components/memory/machineTotal";
import type { StartedServer } from "../../../components/memory/measurement/record";
import {
  type MemoryVerdict,
  memoryVerdict,
  type Planned,
} from "../../../components/memory/measurement/verdict";
import { parseMeminfo } from "../../../components/planned/evidence";
import { type ContainerState, containersOf } from "../../containers/readContainers";
import { parseJson } from "../json";
import { fail, type Probe, pass, type Verdict } from "../probe";
import type { MachineTarget } from "../targets";

/** Less than this in GiB and the next allocation of any process makes a unified-memory machine swap and hang. */
const LEAST_AVAILABLE_GIB = 2;

/** The aggregate rule, measured: it counts only after every server has served a request, so this runs last. */
export const memoryProbe: Probe<MachineTarget> = {
  name: "memory",
  about: "MemAvailable, what each process holds, and each server's KV cache against the plan",
  fix: ({ machine }) => `Lower gpuMemoryUtilization of a server of machines.${machine.name}.`,
  run: async (target) => {
    const { inferenceServers } = target.machine;
    const parts = [await ofMachine(target)];
    for (const server of inferenceServers) parts.push(await ofServer(target, server));
    const status = (["fail", "pass", "skip"] as const).find((each) =>
      parts.some((part) => part.status === each),
    );
    return {
      status: status ?? "skip",
      detail: parts.map((part) => part.detail).join("; "),
      fix: parts
        .map((part) => part.fix)
        .filter(Boolean)
        .join("\n"),
    };
  },
};

/** MemAvailable and the resident memory of each process: the GPU's own memory columns say nothing on such a machine. */
async function ofMachine({ machine, host }: MachineTarget): Promise<Verdict> {
  const meminfo = parseMeminfo(await host.meminfo());
  if (meminfo === undefined)
    return { status: "skip", detail: "this system has no /proc/meminfo that can be read", fix: "" };
  const { availableGiB, totalGiB } = meminfo;
  const held = await residents(machine, host);
  const seen = `${availableGiB.toFixed(1)} of ${totalGiB.toFixed(1)} GiB available${held.length === 0 ? "" : `; resident: ${held.join(", ")}`}`;
  const wrongTotal = totalFault(machine.ledger.totalGiB, totalGiB) ?? "";
  if (availableGiB >= LEAST_AVAILABLE_GIB) return pass(seen, wrongTotal);
  return fail(
    seen,
    `Too little is left: lower gpuMemoryUtilization of a server of machines.${machine.name}, or of instance A where it is started.`,
  );
}

/** What a server's own log says of its memory, against the plan; what to record of it, and what to try next. */
async function ofServer(target: MachineTarget, server: InferenceServerPlan): Promise<Verdict> {
  const { machine, host } = target;
  const { name } = server.container;
  const inspected = await host.docker(["inspect", "--type", "container", name]).catch(() => "");
  const [state] = containersOf(parseJson(inspected));
  if (state === undefined) return { status: "skip", detail: `${name} is not there`, fix: "" };
  const log = readEngineLog(await host.memoryLines(name));
  const started = startedServer(target, server, state);
  const verdict = memoryVerdict(
    plannedFor(target, server, started, log.maxModelLen),
    log,
    started,
    dayOf(state),
  );
  return {
    status: verdict.status,
    detail: `${name}: ${verdict.detail}`,
    fix: [
      ...recordText(verdict, `machines.${machine.name}.inferenceServers.${server.key}`),
      ...(await caution(target, verdict)),
      ...nextText(verdict, name),
    ].join("\n"),
  };
}

function startedServer(
  { machine }: MachineTarget,
  { container }: InferenceServerPlan,
  state: ContainerState,
): StartedServer {
  const { totalGiB, largestUtilizationThatFits } = machine.ledger;
  return {
    gpuMemoryUtilization: state.gpuMemoryUtilization ?? shareOf(container) ?? 0,
    totalGiB,
    maxNumSeqs: machine.kv[container.name]?.maxNumSeqs ?? 1,
    image: state.image.includes("@sha256:") ? state.image : container.image,
    largestUtilization: largestUtilizationThatFits[container.name] ?? 0,
  };
}

/** The plan to hold a start against: none for a server that was started with other settings than the stack file's. */
function plannedFor(
  { machine }: MachineTarget,
  { container }: InferenceServerPlan,
  started: StartedServer,
  startedWindow: number | undefined,
): Planned {
  const kv = machine.kv[container.name] ?? null;
  if (kv === null) return { none: "the plan has no figure to compare" };
  const share = shareOf(container);
  const differs = [
    ...(share === started.gpuMemoryUtilization
      ? []
      : [`utilization ${started.gpuMemoryUtilization} and the stack file ${share}`]),
    ...(startedWindow === undefined || startedWindow === kv.maxModelLen
      ? []
      : [`a window of ${startedWindow} tokens and the stack file ${kv.maxModelLen}`]),
  ];
  if (differs.length === 0) return kv;
  return { none: `not comparable: it runs with ${differs.join(", with ")} (\`npm run up\` applies it)` };
}

function shareOf({ entrypoint, command }: InferenceServerPlan["container"]): number | undefined {
  return utilizationOf([...(entrypoint ?? []), ...command]);
}

/** The day of the start, which is when vLLM measured. */
function dayOf({ startedAt }: ContainerState): string {
  const day = /^\d{4}-\d{2}-\d{2}/.exec(startedAt)?.[0];
  return day === undefined || day.startsWith("0001") ? new Date().toISOString().slice(0, 10) : day;
}

function recordText({ record }: MemoryVerdict, place: string): string[] {
  if (record.length === 0) return [];
  return [`Record in the stack file, below ${place}:`, ...record.map((line) => `  ${line}`)];
}

/** What a record that is taken now would not prove. */
async function caution({ machine, host }: MachineTarget, { record }: MemoryVerdict): Promise<string[]> {
  const { hostInstance } = machine;
  if (record.length === 0 || hostInstance === "none") return [];
  if ((await host.listener(hostInstance.port)) !== undefined) return [];
  return ["Instance A is not running: that both fit is proven only once it is, too."];
}

function nextText({ next }: MemoryVerdict, name: string): string[] {
  if (next.length === 0) return [];
  return [
    `Worth trying for ${name}:`,
    ...next.map(({ setting, value, why }) => `  ${setting}: ${value} (${why})`),
  ];
}

/** Resident memory of each process of our servers and of instance A, largest first in each. */
async function residents(machine: MachineTarget["machine"], host: MachineTarget["host"]): Promise<string[]> {
  const found: string[] = [];
  for (const { name } of machine.containers) {
    const table = await host.docker(["top", name, "-eo", "pid,rss,comm"]).catch(() => "");
    const kib = table
      .split("\n")
      .slice(1)
      .reduce((sum, line) => sum + (Number(line.trim().split(/\s+/)[1]) || 0), 0);
    if (kib > 0) found.push(`${name} ${(kib / 1024 ** 2).toFixed(1)} GiB`);
  }
  if (machine.hostInstance !== "none") {
    const pid = (await host.listener(machine.hostInstance.port))?.pid;
    const gib = pid === undefined ? undefined : await host.residentGiB(pid);
    if (gib !== undefined) found.push(`instance A ${gib.toFixed(1)} GiB (its listening process)`);
  }
  return found;
}
