import type { Api } from "./api";
import type { Host } from "./host";
import { readMetrics } from "./metrics";

/** When a server's process was started, as something that stays the same for as long as the process does. */
export interface ProcessStart {
  /** Opaque; equal means the same process. */
  readonly mark: string;
  /** For a person: `process 4711`, or `started 2026-11-21T13:00:00.000Z`. */
  readonly words: string;
}

/** By the kernel where the process is ours to see, else by what the server's own metrics say. */
export async function processStart(host: Host, api: Api, port: number): Promise<ProcessStart | undefined> {
  const pid = (await host.listener(port))?.pid;
  const ticks = pid === undefined ? undefined : await host.startTime(pid);
  if (pid !== undefined && ticks !== undefined) return { mark: `${pid}: ${ticks}`, words: `process ${pid}` };
  const metrics = await readMetrics(api).catch(() => undefined);
  const seconds = metrics?.sum("process_start_time_seconds");
  // A date has an end, a server's number need not.
  const date = new Date((seconds ?? Number.NaN) * 1000);
  if (Number.isNaN(date.getTime())) return undefined;
  return { mark: `metrics: ${seconds}`, words: `started ${date.toISOString()}` };
}
