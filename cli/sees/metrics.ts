import { Metrics } from "@local-serving/vllm/metrics";
import { BadAnswer } from "./answer";
import type { Api } from "./api";
import type { Host } from "./host";

/** Reads the metrics of a server. Throws `BadAnswer` if they are not vLLM's. */
export async function readMetrics(api: Api): Promise<Metrics> {
  const answer = await api.get("/metrics");
  const metrics = answer.status === 200 ? new Metrics(answer.text) : undefined;
  if (metrics?.sum("vllm:num_requests_running") === undefined)
    throw new BadAnswer(`/metrics answered ${answer.status} without vLLM's metrics`);
  return metrics;
}

/**
 * Tokens of prompts that were looked up in the prefix cache, and found there, since the start.
 * Throws as `readMetrics` does.
 */
export async function cacheCounters(api: Api) {
  const metrics = await readMetrics(api);
  return {
    queries: metrics.sum("vllm:prefix_cache_queries_total") ?? 0,
    hits: metrics.sum("vllm:prefix_cache_hits_total") ?? 0,
  };
}

/**
 * A process. An equal `mark` means the same one; `words` are for a person: `process 4711`, `started
 * 2026-11-21T13:00:00.000Z`.
 */
export interface ProcessStart {
  readonly mark: string;
  readonly words: string;
}

/**
 * When a server's process was started, by the kernel if we may see the process, else by the
 * server's own metrics.
 */
export async function processStart(
  host: Host,
  api: Api,
  port: number,
): Promise<ProcessStart | undefined> {
  const pid = (await host.listener(port))?.pid;
  const ticks = pid === undefined ? undefined : await host.startTime(pid);
  if (pid !== undefined && ticks !== undefined)
    return { mark: `${pid}: ${ticks}`, words: `process ${pid}` };
  const metrics = await readMetrics(api).catch(() => undefined);
  const seconds = metrics?.sum("process_start_time_seconds");
  // A date has an end, a server's number need not.
  const date = new Date((seconds ?? Number.NaN) * 1000);
  if (Number.isNaN(date.getTime())) return undefined;
  return { mark: `metrics: ${seconds}`, words: `started ${date.toISOString()}` };
}
