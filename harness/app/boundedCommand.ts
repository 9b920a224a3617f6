import { defined } from "../../faults/defined";
import type { JobRecords } from "./jobRecords";
import { type CommandStreams, type JobEnd, Supervisor } from "./supervisor";

/** Time between TERM and KILL for a command whose bound has passed, in milliseconds. */
const BOUND_GRACE_MS = 5000;

export interface BoundedCommand {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Seconds that it may take; no bound when absent. */
  readonly timeoutSec?: number;
  readonly streams: CommandStreams;
  readonly jobs: JobRecords;
  readonly interrupt: AbortSignal;
}

/**
 * Runs a command in a process group of its own and waits until all of it is gone: bounded, and never outliving this
 * program. Throws `CommandNotStarted`.
 */
export async function runBounded(command: BoundedCommand, supervisor?: Supervisor): Promise<JobEnd> {
  const own = supervisor ?? new Supervisor(command.streams, command.jobs);
  const stop = () => own.stop();
  try {
    const { argv, cwd, env, timeoutSec, interrupt } = command;
    const boundMs = timeoutSec === undefined ? undefined : Math.ceil(timeoutSec * 1000);
    const job = own.run({ argv, cwd, env, ...defined({ boundMs }), graceMs: BOUND_GRACE_MS, endWithLeader: true });
    interrupt.addEventListener("abort", stop);
    if (interrupt.aborted) stop();
    return await job.gone;
  } finally {
    command.interrupt.removeEventListener("abort", stop);
    if (supervisor === undefined) await own.close();
  }
}

/** How a command ended, in words; `undefined` when it exited 0 in time. */
export function failureOf(end: JobEnd, timeoutSec: number | undefined): string | undefined {
  if (end.by === "nothing") return "left a process that survived KILL";
  if (end.timedOut) return `took longer than ${timeoutSec} s`;
  if (end.code === null) return `was ended by ${end.signal ?? "a signal"}`;
  return end.code === 0 ? undefined : `exited ${end.code}`;
}
