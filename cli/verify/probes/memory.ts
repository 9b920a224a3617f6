import { defined } from "@local-serving/base/faults/defined";
import { jsonIn, objectOr } from "@local-serving/base/faults/json";
import { today } from "@local-serving/base/units/dateText";
import { readEngineLog } from "@local-serving/kv";
import type { ContainerState } from "@local-serving/machines/docker/containers";
import { parseMeminfo } from "@local-serving/machines/memory";
import { readServerArguments } from "@local-serving/vllm/argv/serverArguments";
import { tenThousandths } from "@local-serving/vllm/utilization";
import type { InferenceServerPlan } from "../../../components/inference-server";
import { adviseShare, judgeStart, shareRoom, totalFinding } from "../../../components/memory";
import type { MachinePlan } from "../../../components/plan";
import { gpusOf } from "../../../components/planned";
import { inspect } from "../../sees/host";
import { isStoppedAsPlanned, notRunningText } from "../../sees/onRequest";
import type { Edit } from "../../stackEdit/applyEdits";
import { fail, pass, skip, type Verdict, worst } from "../probe";
import type { MachineTarget, ProbesOf } from "../target";

/**
 * With less than this in GiB, the next allocation of any process makes a unified-memory machine
 * swap and hang.
 */
const LEAST_AVAILABLE_GIB = 2;

/**
 * The aggregate rule, measured. It counts only after every server has served a request, so this
 * runs last.
 */
export const memoryProbes: ProbesOf<"machine"> = [
  {
    name: "memory",
    about: "MemAvailable, what each process holds, and each server's KV cache against the plan",
    fix: ({ machine }) => `Lower gpuMemoryUtilization of a server of machines.${machine.name}.`,
    run: async (target) => {
      const parts = [await ofMachine(target)];
      for (const server of target.machine.inferenceServers)
        parts.push(await ofServer(target, server));
      const [detail, fix] = [parts.map((part) => part.detail), parts.map((part) => part.fix)];
      return { ...worst(parts), detail: detail.join("; "), fix: fix.filter(Boolean).join("\n") };
    },
  },
];

/**
 * MemAvailable and the resident memory of each process: the GPU's own memory columns say nothing on
 * such a machine.
 */
async function ofMachine(target: MachineTarget): Promise<Verdict> {
  const { machine, host } = target;
  const meminfo = parseMeminfo(await host.meminfo());
  if (meminfo === undefined) return skip("this system has no readable /proc/meminfo");
  const { availableGiB, totalGiB } = meminfo;
  const held = await residents(target);
  const seen = `${availableGiB.toFixed(1)} of ${totalGiB.toFixed(1)} GiB available${held.length === 0 ? "" : `; resident: ${held.join(", ")}`}`;
  const wrongTotal = totalFinding(machine.ledger.totalGiB, totalGiB)?.message ?? "";
  if (availableGiB >= LEAST_AVAILABLE_GIB) return pass(seen, wrongTotal);
  const fix = `Too little is left: lower gpuMemoryUtilization of a server of machines.${machine.name}, or of instance A in its own start command.`;
  return fail(seen, fix);
}

/** A server's own log about its memory, against the plan; what to record, and what to try next. */
async function ofServer(target: MachineTarget, server: InferenceServerPlan): Promise<Verdict> {
  const { machine } = target;
  const { name } = server.container;
  const judged = await judgedStart(target, server);
  if ("unread" in judged) return skip(judged.unread);
  const { status, detail, record, next, cutShort } = judged;
  const place = `machines.${machine.name}.inferenceServers.${server.key}`;
  const lines = [
    `Record in the stack file, below ${place} (\`serving verify --only memory --record\` does it):`,
    ...record.map((line) => `  ${line}`),
  ];
  const worth = next.map(({ setting, value, why }) => `  ${setting}: ${value} (${why})`);
  const fix = [
    ...(record.length === 0 ? [] : [...lines, ...(await caution(target))]),
    ...(next.length === 0 ? [] : [`Worth trying for ${name}:`, ...worth]),
  ];
  const whole = [detail, cutShort].filter(Boolean).join("; ");
  return { status, detail: `${name}: ${whole}`, fix: fix.join("\n") };
}

type OnMachine = Pick<MachineTarget, "machine" | "host">;

/** What the log of a server's start says of its memory, against the plan; or why it isn't read. */
export async function judgedStart(
  { machine, host }: OnMachine,
  server: InferenceServerPlan,
): Promise<JudgedStart | { readonly unread: string }> {
  const { name } = server.container;
  const state = await inspect(host, name).catch(() => undefined);
  if (state === undefined) return { unread: `${name} is not there` };
  if (isStoppedAsPlanned(server.container, state))
    return { unread: notRunningText(machine, server.key) };
  const { text, cutShort } = await host.memoryLines(name);
  const log = readEngineLog(text);
  const started = startedServer(machine, server, state);
  const planned = plannedFor(machine, server, started, log.maxModelLen);
  return { ...judgeStart(planned, log, started, dayOf(state)), cutShort };
}

interface JudgedStart extends ReturnType<typeof judgeStart> {
  /** Says that the log wasn't read to its end. */
  readonly cutShort: string | undefined;
}

function startedServer(
  machine: MachinePlan,
  { container, serve }: InferenceServerPlan,
  state: ContainerState,
) {
  const kv = machine.kv[container.name];
  const now = state.gpuMemoryUtilization ?? serve.gpuMemoryUtilization;
  const room = shareRoom(machine, container.name);
  return {
    gpuMemoryUtilization: now,
    totalGiB: kv?.least?.totalGiB ?? machine.ledger.totalGiB,
    maxNumSeqs: kv?.maxNumSeqs ?? 1,
    gpus: kv ? gpusOf(kv) : 1,
    image: state.image.includes("@sha256:") ? state.image : container.image,
    largestUtilization: room === undefined ? 0 : adviseShare(room, now).most,
    ran: ranWith(container.command),
  };
}

/** What of a server's arguments decides how much it holds beside its cache. */
function ranWith(command: readonly string[]) {
  const { options } = readServerArguments(command);
  const first = (name: string) => options.get(name)?.map(String)[0];
  const drafts = objectOr(jsonIn(first("speculative-config") ?? "")).num_speculative_tokens;
  const batch = Number(first("max-num-batched-tokens"));
  return {
    ...(batch > 0 ? { maxNumBatchedTokens: batch } : {}),
    draftTokens: typeof drafts === "number" ? drafts : 0,
    loadFormat: first("load-format") ?? "auto",
  };
}

/** The edits of the stack file that record what the servers of a machine measured. */
export async function measuredEdits(target: OnMachine): Promise<Edit[]> {
  const { name, inferenceServers } = target.machine;
  const edits: Edit[] = [];
  for (const server of inferenceServers) {
    const judged = await judgedStart(target, server);
    if ("unread" in judged || judged.measured === undefined) continue;
    const path = ["machines", name, "inferenceServers", server.key, "measured"];
    edits.push({ path, value: undefined }, { path, value: defined(judged.measured) });
  }
  return edits;
}

/**
 * The plan to compare a start with; none for a server that runs with other settings than the stack
 * file's.
 */
function plannedFor(
  machine: MachinePlan,
  { container, serve }: InferenceServerPlan,
  started: ReturnType<typeof startedServer>,
  startedWindow: number | undefined,
): Parameters<typeof judgeStart>[0] {
  const kv = machine.kv[container.name] ?? null;
  if (kv === null) return { none: "the plan has no figure to compare" };
  const share = serve.gpuMemoryUtilization;
  const differs: string[] = [];
  if (tenThousandths(share) !== tenThousandths(started.gpuMemoryUtilization))
    differs.push(`utilization ${started.gpuMemoryUtilization} (stack file: ${share})`);
  if (startedWindow !== undefined && startedWindow !== kv.maxModelLen)
    differs.push(`a window of ${startedWindow} tokens (stack file: ${kv.maxModelLen})`);
  if (differs.length === 0) return kv;
  return {
    none: `not comparable: it runs with ${differs.join(" and ")}; \`serving up\` applies the stack file`,
  };
}

/** The day of the start, which is when vLLM measured. */
function dayOf({ startedAt }: ContainerState): string {
  const day = /^\d{4}-\d{2}-\d{2}/.exec(startedAt)?.[0];
  return day === undefined || day.startsWith("0001") ? today() : day;
}

/** What a record taken now would not prove. */
async function caution({ machine: { hostInstance }, host }: MachineTarget): Promise<string[]> {
  if (hostInstance === "none" || (await host.listener(hostInstance.port)) !== undefined) return [];
  return ["Instance A is not running, so this record does not prove that both fit."];
}

/** Resident memory of our containers and of instance A. */
async function residents({ machine, host }: MachineTarget): Promise<string[]> {
  const found: string[] = [];
  for (const { name } of machine.containers) {
    const table = await host.docker(["top", name, "-eo", "pid,rss,comm"]).catch(() => "");
    const rows = table.split("\n").slice(1);
    const kib = rows.reduce((sum, line) => sum + (Number(line.trim().split(/\s+/)[1]) || 0), 0);
    if (kib > 0) found.push(`${name} ${(kib / 1024 ** 2).toFixed(1)} GiB`);
  }
  if (machine.hostInstance !== "none") {
    const pid = (await host.listener(machine.hostInstance.port))?.pid;
    const gib = pid === undefined ? undefined : await host.residentGiB(pid);
    if (gib !== undefined) found.push(`instance A ${gib.toFixed(1)} GiB (its listening process)`);
  }
  return found;
}
