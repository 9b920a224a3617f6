import { setTimeout as sleep } from "node:timers/promises";
import { defined } from "@local-serving/base/faults/defined";
import { Failed } from "@local-serving/base/faults/fault";
import { type ContainerState, startedAgain } from "@local-serving/machines/docker/containers";
import { filesOf } from "@local-serving/machines/files";
import { parseMeminfo } from "@local-serving/machines/memory";
import { readAppliedPlan } from "../../components/evidence";
import type { MachinePlan } from "../../components/plan";
import { answers, isPooling } from "../../components/planned";
import { SIMPLE_SERVER } from "../../components/planned/fields";
import { Api, answersOk, hangs, TOKEN_LIMIT_SECONDS } from "../sees/api";
import { type TokensByClient, tokensByClient } from "../sees/clientTokens";
import { scanContainer } from "../sees/containerLog";
import { type GpuState, readGpu } from "../sees/gpu";
import { type Host, hostOf } from "../sees/host";
import { READY } from "../sees/log/sign";
import { readMetrics } from "../sees/metrics";
import { hasOnDemand, type OnDemandSeen, type SwapMachine } from "../sees/onDemand/onDemand";
import {
  endedBadly,
  isStoppedAsPlanned,
  KILL_SIGNS,
  mayBeKilled,
  wasKilled,
} from "../sees/onRequest";
import { type OpenTunnel, originFromHere, type Tunnel, tunnelTo } from "../sees/tunnel";
import { type Named, namedOn, ON_DEMAND } from "../stack/named";
import type { ItemStatus, ServerFigures } from "./itemStatus";
import {
  type LastStart,
  lookOnDemand,
  type OnDemandStatus,
  onDemandStatus,
  runningItem,
  stoppedItem,
  swapItem,
} from "./onDemandStatus";

export interface MachineStatus {
  readonly machine: string;
  /** GiB; `null` where it can't be read. */
  readonly memory: {
    readonly availableGiB: number;
    readonly totalGiB: number;
    readonly floorGiB: number;
  } | null;
  /** The first GPU; `null` where nvidia-smi says nothing. */
  readonly gpu: GpuState | null;
  readonly items: readonly ItemStatus[];
  /** What starts servers by request, where the machine has that. */
  readonly onDemand?: OnDemandStatus;
  /** Tokens by client, where the bridge counts them. */
  readonly tokensByClient?: TokensByClient;
  /** Why nothing is known of its containers. */
  readonly problem?: string;
}

/** Looks at a machine that is there. It only asks. */
export async function statusOf(
  machine: MachinePlan,
  lastStart: LastStart = () => undefined,
  open: OpenTunnel = tunnelTo,
): Promise<MachineStatus> {
  const host = hostOf(machine.dockerHost);
  const [meminfo, gpu = null, [found, problem]] = await Promise.all([
    host.meminfo().then(parseMeminfo),
    readGpu(host),
    host.containers().then(
      (containers) => [containers, undefined] as const,
      (error: unknown) => {
        if (error instanceof Failed) return [[], error.message] as const;
        throw error;
      },
    ),
  ]);
  const tunnel = await open(machine);
  const look = async () => {
    const seen = await onDemandOf(machine, host, { tunnel, problem });
    const items = await Promise.all(
      namedOn(machine).map(async (each) =>
        onDemandItem(each, await itemOf(each, host, tunnel, problem ?? found), { seen, lastStart }),
      ),
    );
    return {
      items,
      ...defined({
        onDemand: seen && onDemandStatus(seen.machine, seen.seen),
        tokensByClient: await tokensByClient(machine, tunnel),
      }),
    };
  };
  const looked = await look().finally(tunnel.close);
  const memory = meminfo === undefined ? null : { ...meminfo, floorGiB: floorOf(machine) };
  return { machine: machine.name, memory, gpu, ...looked, ...defined({ problem }) };
}

/** What llama-swap, Docker and the wrapper say, where a machine has them and Docker answers. */
async function onDemandOf(
  machine: MachinePlan,
  host: Host,
  { tunnel, problem }: { readonly tunnel: Tunnel; readonly problem: string | undefined },
): Promise<OnDemandLook | undefined> {
  if (!hasOnDemand(machine) || problem !== undefined) return undefined;
  return { machine, seen: await lookOnDemand(machine, host, tunnel) };
}

interface OnDemandLook {
  readonly machine: SwapMachine;
  readonly seen: OnDemandSeen;
}

const itemOf = (
  each: Named,
  host: Host,
  tunnel: Tunnel,
  found: readonly ContainerState[] | string,
): Promise<ItemStatus> => {
  if (each.container === undefined || each.own === false) return outside(each, tunnel);
  // A container that nobody could look for may well run.
  if (typeof found === "string") return Promise.resolve(unseen(each.key));
  const own = found.find(({ name }) => name === each.container?.name);
  return ofContainer(each, host, tunnel, own);
};

const unseen = (key: string): ItemStatus => ({ key, state: "unknown", well: false });

/** The same of what llama-swap starts, and of itself, with what it says. */
function onDemandItem(
  { key, container, server }: Named,
  item: ItemStatus,
  {
    seen: look,
    lastStart,
  }: { readonly seen: OnDemandLook | undefined; readonly lastStart: LastStart },
): ItemStatus {
  if (look === undefined) return item;
  const { machine, seen } = look;
  if (key === ON_DEMAND) return swapItem(seen);
  if (server?.container.start !== "onRequest" || container === undefined) return item;
  const found = seen.containers.get(key);
  if (found === undefined) return item;
  if (found.status === "running") return runningItem(machine, seen, item);
  const failed = seen.failed.has(key);
  return isStoppedAsPlanned(container, found) && (failed || item.well)
    ? { ...item, ...stoppedItem(machine, seen, { key, container }, lastStart) }
    : item;
}

/** The floor below which a start gate stops its server; 0 where no server has one. */
const floorOf = ({ containers, memoryFloorGiB }: MachinePlan): number =>
  containers.some(({ gate }) => gate !== undefined) ? memoryFloorGiB : 0;

/** What runs in no container of ours: whether it answers. */
async function outside({ key, machine }: Named, tunnel: Tunnel): Promise<ItemStatus> {
  const path = key === SIMPLE_SERVER ? "/api/version" : "/health";
  const reach = machine.reach.find((each) => each.key === key);
  // Ollama inside the chat UI has no port of its own.
  if (reach === undefined) return { key, state: "inside chat-ui", well: true };
  const { url, unreachable } = originFromHere(machine, reach, tunnel);
  if (url === undefined) return { key, state: "unknown", well: true, note: unreachable };
  const answers = await answersOk(`${url}${path}`);
  return { key, state: answers ? "ready" : "does not answer", well: answers };
}

async function ofContainer(
  named: Named,
  host: Host,
  tunnel: Tunnel,
  found: ContainerState | undefined,
): Promise<ItemStatus> {
  const { key, machine, server } = named;
  if (found === undefined)
    return { key, state: "not there", well: false, note: await makesIt(machine, key) };
  const since = Date.parse(sinceOf(found));
  const item = { key, ...(since > 0 ? { seconds: Math.round((Date.now() - since) / 1000) } : {}) };
  if (server !== undefined && isStoppedAsPlanned(server.container, found))
    return { ...item, ...(await stoppedStatus(key, found, machine.dockerHost)) };
  const { status: state } = found;
  if (state !== "running")
    return { ...item, state, well: false, ...defined({ note: notRunningNote(key, found) }) };
  return { ...item, ...(await ofRunning(named, found, { host, tunnel })) };
}

async function ofRunning(
  { machine, server }: Named,
  found: ContainerState,
  { host, tunnel }: { readonly host: Host; readonly tunnel: Tunnel },
): Promise<Omit<ItemStatus, "key" | "seconds">> {
  const { health = "healthy", restartCount } = found;
  // A worker has no API: it is well once its head is, which Docker's health check asks.
  const hasApi = server !== undefined && answers(server);
  const { url } = hasApi ? originFromHere(machine, server.reach, tunnel) : {};
  const again = restartCount > 0 ? startedAgain(restartCount) : undefined;
  const { isAlive, figures } =
    url === undefined ? { isAlive: health === "healthy" } : await askedServer(url);
  if (isAlive && (await isStuck(url, server, figures)))
    return { state: "does not answer", well: false, ...defined({ figures, note: STUCK }) };
  if (isAlive) {
    const notes = [again, url !== undefined && figures === undefined ? NO_FIGURES : undefined];
    const note = notes.filter((each) => each !== undefined).join("; ") || undefined;
    return { state: "ready", well: true, ...defined({ figures, note }) };
  }
  if (server === undefined) return { state: health, well: false };
  // One that was up, and is silent, ended or hangs: its log has no newer phase of a start.
  const wasUp =
    url !== undefined && (figures !== undefined || (await wasReady(found, machine.dockerHost)));
  if (wasUp) return { state: "does not answer", well: false, ...defined({ note: again }) };
  const { phase, note } = await host.phaseOf(found);
  const notes = [note, again].filter((each) => each !== undefined).join("; ");
  return { state: phase, well: false, ...defined({ note: notes || undefined }) };
}

const NO_FIGURES = "no figures: its /metrics are not vLLM's";

/**
 * Whether a server is ready, which `serving status --wait` asks in the same way, and what it does.
 * The API of a dead engine still gives figures, and one without figures may serve.
 */
async function askedServer(
  url: string,
): Promise<{ readonly isAlive: boolean; readonly figures?: ServerFigures | undefined }> {
  const [isAlive, figures] = await Promise.all([
    answersOk(`${url}/health`),
    figuresOfServer(new Api(url)).catch(() => undefined),
  ]);
  return { isAlive, figures };
}

/** Whether the log of a container says that its server was ready since it started. */
const wasReady = async ({ name }: ContainerState, dockerHost: string) =>
  (await scanContainer(name, dockerHost, [READY]))?.hits.has(READY) === true;

/** Since when a container is what it is: of one that ended, since its end. */
const sinceOf = ({ status, startedAt, finishedAt }: ContainerState): string =>
  ENDED.includes(status) ? (finishedAt ?? startedAt) : startedAt;

/** Docker's words for a container whose run is over. */
const ENDED = ["exited", "dead"];

/** What to do about a container that should run and doesn't, by Docker's word for it. */
function notRunningNote(key: string, found: ContainerState): string | undefined {
  if (found.status !== "created" && !ENDED.includes(found.status)) return undefined;
  return endedBadly(found) ? endedNote(key, found) : `\`serving start ${key}\` starts it`;
}

function endedNote(key: string, { oomKilled, exitCode }: ContainerState): string {
  const ended = oomKilled ? "killed for memory" : `it ended with exit code ${exitCode}`;
  return `${ended}: \`serving logs ${key}\` says why, \`serving start ${key}\` starts it again`;
}

const killedNote = (key: string): string =>
  `it was killed while it served (exit code 137): \`serving doctor\` looks for why, \`serving start ${key}\` starts it again`;

/** A server that starts on request, and doesn't run. */
async function stoppedStatus(key: string, found: ContainerState, dockerHost: string) {
  if (mayBeKilled(found)) {
    const log = await scanContainer(found.name, dockerHost, KILL_SIGNS);
    if (wasKilled(found, log)) return { state: found.status, well: false, note: killedNote(key) };
  }
  if (!endedBadly(found))
    return {
      state: "not running",
      well: true,
      note: `as planned: \`serving start ${key}\` starts it`,
    };
  return { state: found.status, well: false, note: endedNote(key, found) };
}

/** The engine makes what is new, and looks for what is gone only where it is told to. */
async function makesIt(machine: MachinePlan, key: string): Promise<string> {
  const applied = await readAppliedPlan(machine, filesOf(machine));
  const isNew = "plan" in applied && !namedOn(applied.plan).some((each) => each.key === key);
  return isNew ? "not applied yet: `serving up` creates it" : "`serving up --refresh` creates it";
}

const STUCK = `no token within ${TOKEN_LIMIT_SECONDS} s: its engine hangs, or reads a long prompt`;

/** An engine that is stopped keeps its last figures, and its API goes on answering /health. */
async function isStuck(
  url: string | undefined,
  server: Named["server"],
  figures: ServerFigures | undefined,
): Promise<boolean> {
  if (url === undefined || server === undefined || figures?.tokensPerSecond !== 0) return false;
  return !isPooling(server.model.kind) && hangs(url, server.servedModelName);
}

/** A server's figures, from two looks at its metrics. */
export async function figuresOfServer(api: Api): Promise<ServerFigures> {
  const first = await readMetrics(api);
  const began = Date.now();
  await sleep(1000);
  const last = await readMetrics(api).catch(() => first);
  const told = (name: string, metrics = last) => metrics.sum(`vllm:${name}`);
  // One that started anew counts from the beginning.
  const [before, after] = [first, last].map((each) => told("generation_tokens_total", each));
  const written = before === undefined || after === undefined ? -1 : after - before;
  const asked = told("prefix_cache_queries_total") ?? 0;
  const found = told("prefix_cache_hits_total");
  return {
    kvUse: last.sum("vllm:kv_cache_usage_perc") ?? null,
    running: told("num_requests_running") ?? null,
    waiting: told("num_requests_waiting") ?? null,
    tokensPerSecond: written < 0 ? null : (written / (Date.now() - began)) * 1000,
    prefixHits: asked > 0 && found !== undefined ? found / asked : null,
    tokensRead: told("prompt_tokens_total") ?? null,
    tokensWritten: after ?? null,
  };
}
