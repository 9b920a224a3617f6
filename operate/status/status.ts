import { setTimeout as sleep } from "node:timers/promises";
import { eachLine, start } from "../../commandLine/run";
import { type ContainerState, readContainers } from "../../components/docker/containers";
import { dockerCommand } from "../../components/docker/docker";
import type { Metrics } from "../../components/inference-server/metrics";
import type { MachinePlan } from "../../components/plan/types";
import { parseMeminfo } from "../../components/planned/evidence";
import { INSTANCE_A, SIMPLE_SERVER } from "../../components/planned/fields";
import { MIB_PER_GIB } from "../../components/planned/utilization";
import { defined } from "../../faults/defined";
import { Failed } from "../../faults/fault";
import { ask } from "../../http/ask";
import { hostOf } from "../host/host";
import { type Named, namedOn } from "../stack/named";
import { Api } from "../verify/api";
import { readMetrics } from "../verify/metrics";
import { originFromHere, type Tunnel } from "../verify/reach";
import { afterLine, START, type StartProgress } from "../wait/phases";

/** A server or service at one moment. */
export interface ItemStatus {
  readonly key: string;
  /** `ready`, or Docker's word for its container, the phase of its start, `not there` ... */
  readonly state: string;
  readonly well: boolean;
  /** Figures of the phase, or what the start gate says. */
  readonly note?: string;
  /** Seconds since its container started, or ended. */
  readonly seconds?: number;
  readonly figures?: Figures;
}

/** Of a server, by its own metrics: shares from 0 to 1. */
export interface Figures {
  readonly kvUse: number | null;
  readonly running: number;
  readonly waiting: number;
  /** Tokens that it wrote since the last look, per second. */
  readonly tokensPerSecond: number | null;
  /** Share of the prompts' tokens that the prefix cache had, since its start; `null` before the first. */
  readonly prefixHits: number | null;
}

export interface MachineStatus {
  readonly machine: string;
  /** GiB; `null` where it can't be read. */
  readonly memory: { readonly availableGiB: number; readonly totalGiB: number; readonly floorGiB: number } | null;
  readonly items: readonly ItemStatus[];
  /** Why nothing is known of its containers. */
  readonly problem?: string;
}

/** Tokens that a server had written at a moment, in milliseconds, by the URL of its API. */
export type Looks = Map<string, { readonly at: number; readonly tokens: number }>;

/** Seconds between two looks, where there was none before. */
const BETWEEN_SECONDS = 1;
const ANSWER_SECONDS = 5;

/** Looks at a machine. It only asks. */
export async function statusOf(machine: MachinePlan, tunnel: Tunnel, looks: Looks): Promise<MachineStatus> {
  const meminfo = parseMeminfo(await hostOf(machine.dockerHost).meminfo());
  const found = await readContainers(machine.dockerHost).catch((error: unknown) => {
    if (error instanceof Failed) return error.message;
    throw error;
  });
  const containers = typeof found === "string" ? [] : found;
  const items = namedOn(machine).map((each) =>
    each.container === undefined || each.key === SIMPLE_SERVER
      ? outside(each, tunnel)
      : ofContainer(
          each,
          containers.find(({ name }) => name === each.container?.name),
          tunnel,
          looks,
        ),
  );
  return {
    machine: machine.name,
    memory: meminfo === undefined ? null : { ...meminfo, floorGiB: floorOf(machine) },
    items: await Promise.all(items),
    ...defined({ problem: typeof found === "string" ? found : undefined }),
  };
}

/** The floor below which a start gate stops its server, as the gates are told. */
function floorOf({ files }: MachinePlan): number {
  const gate = files.find(({ role }) => role === "start-gate")?.text ?? "";
  return Number(/^floor (\d+)$/m.exec(gate)?.[1] ?? 0) / MIB_PER_GIB;
}

/** What runs in no container of ours: whether it answers. */
async function outside({ key, machine }: Named, tunnel: Tunnel): Promise<ItemStatus> {
  const path = key === INSTANCE_A ? "/health" : "/api/version";
  const reach = machine.reach.find((each) => each.key === key);
  // Ollama inside the chat UI has no port of its own.
  if (reach === undefined) return { key, state: "inside chat-ui", well: true };
  const { url, unreachable } = originFromHere(machine, reach, tunnel);
  if (url === undefined) return { key, state: "unknown", well: true, note: unreachable };
  const answers = await ask(`${url}${path}`, { timeoutSeconds: ANSWER_SECONDS }).then(
    ({ status }) => status === 200,
    () => false,
  );
  return { key, state: answers ? "ready" : "does not answer", well: answers };
}

async function ofContainer(
  { key, machine, server }: Named,
  found: ContainerState | undefined,
  tunnel: Tunnel,
  looks: Looks,
): Promise<ItemStatus> {
  if (found === undefined) return { key, state: "not there", well: false };
  const since = Date.parse(found.startedAt);
  const seconds = since > 0 ? Math.round((Date.now() - since) / 1000) : undefined;
  const item = { key, ...defined({ seconds }) };
  if (found.status !== "running") return { ...item, state: found.status, well: false };
  const isHealthy = {
    ...item,
    state: found.health ?? "running",
    well: found.health === undefined || found.health === "healthy",
  };
  if (server === undefined) return isHealthy.well ? { ...isHealthy, state: "ready" } : isHealthy;
  const { url } = originFromHere(machine, server.reach, tunnel);
  // A worker has no API: it is well once its head is, which Docker's health check asks.
  const api = url === undefined || (server.rank?.index ?? 0) > 0 ? undefined : new Api(url, ANSWER_SECONDS);
  const metrics = await (api && readMetrics(api).catch(() => undefined));
  if (api && metrics) return { ...item, state: "ready", well: true, figures: await figures(metrics, api, looks) };
  if (api === undefined && isHealthy.well) return { ...isHealthy, state: "ready" };
  const { phase, note } = await phaseOf(found, machine.dockerHost);
  return { ...item, state: phase, well: false, ...defined({ note }) };
}

async function figures(first: Metrics, api: Api, looks: Looks): Promise<Figures> {
  const tokens = (metrics: Metrics) => metrics.sum("vllm:generation_tokens_total") ?? 0;
  const before = looks.get(api.baseUrl) ?? { at: Date.now(), tokens: tokens(first) };
  const isFirst = !looks.has(api.baseUrl);
  if (isFirst) await sleep(BETWEEN_SECONDS * 1000);
  const metrics = isFirst ? await readMetrics(api).catch(() => first) : first;
  const now = { at: Date.now(), tokens: tokens(metrics) };
  looks.set(api.baseUrl, now);
  const asked = metrics.sum("vllm:prefix_cache_queries_total") ?? 0;
  return {
    kvUse: metrics.sum("vllm:kv_cache_usage_perc") ?? null,
    running: metrics.sum("vllm:num_requests_running") ?? 0,
    waiting: metrics.sum("vllm:num_requests_waiting") ?? 0,
    // One that started anew counts from the beginning.
    tokensPerSecond: now.tokens < before.tokens ? null : ((now.tokens - before.tokens) / (now.at - before.at)) * 1000,
    prefixHits: asked > 0 ? (metrics.sum("vllm:prefix_cache_hits_total") ?? 0) / asked : null,
  };
}

/** More than a start prints. */
const NEWEST_LINES = "5000";

/** How far a start is, by the log since then. */
async function phaseOf({ name, startedAt }: ContainerState, dockerHost: string): Promise<StartProgress> {
  const { words, env } = dockerCommand(["logs", "--since", startedAt, "--tail", NEWEST_LINES, name], dockerHost);
  const { stdout, ended } = start(words, { env, merged: true, seconds: ANSWER_SECONDS });
  let progress = START;
  eachLine(stdout, (line) => {
    progress = afterLine(progress, line);
  });
  await ended;
  return progress;
}
