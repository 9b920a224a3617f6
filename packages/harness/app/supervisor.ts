import { type ChildProcess, spawn } from "node:child_process";
import { defined } from "@local-serving/base/faults/defined";
import { commandEnvironment } from "./commandEnvironment";
import {
  type EndedBy,
  endProcesses,
  type JobMark,
  jobMark,
  jobProcesses,
  marked,
} from "./jobProcesses";
import type { JobRecords } from "./jobRecords";
import { type Job, type Order, type Report, Supervising } from "./supervise";
import { removeWorktree, type Worktree } from "./worktree";

/** Descriptors that the supervised commands get. */
export interface CommandStreams {
  readonly stdout: number;
  readonly stderr: number;
  /** Nothing to read when absent. */
  readonly stdin?: number;
}

export interface JobEnd {
  /** Exit code of the command itself; `null` when a signal ended it. */
  readonly code: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  /** What ended its group; `nothing` means that some of the command still runs. */
  readonly by: EndedBy;
  /** How many processes had left the group and were sent a signal. */
  readonly escaped: number;
  /** Why it could not be started at all: no shell, no such directory, or no supervisor. */
  readonly notStarted?: string;
}

/** A command that was handed to its supervisor. */
export interface RunningJob {
  /** Its process group, once it has started; `undefined` where it can't be started. */
  readonly started: Promise<number | undefined>;
  /** Its end, when the last process of the group has gone. */
  readonly gone: Promise<JobEnd>;
}

interface Pending {
  readonly start: (pgid?: number) => void;
  readonly end: (end: JobEnd) => void;
  readonly graceMs: number;
  readonly mark: JobMark;
  pgid?: number;
  code: number | null;
  signal: string | null;
}

/**
 * What a supervisor runs when it is started: its own source text, since everything else is in one
 * bundled file.
 */
function source(): string {
  // Some loaders wrap functions in a helper called __name; in a text of its own it has to be
  // brought along.
  return `const __name = (f) => f; new (${Supervising.toString()})(${jobProcesses.toString()}, ${removeWorktree.toString()}).listen();`;
}

/**
 * Runs commands one after the other, each in a process group of its own, in such a way that no
 * process of the group outlives this program, however it ends. See `Supervising` for the process that
 * keeps this promise; should both be killed at the same moment, the next run keeps it
 * (`endLeftovers`), by what `records` hold.
 */
export class Supervisor {
  private readonly process: ChildProcess;
  private readonly closed: Promise<void>;
  private pending: Pending | undefined;
  private ended = false;
  private worktreeMark: string | undefined;

  constructor(
    streams: CommandStreams,
    private readonly records: JobRecords,
  ) {
    this.process = spawn(process.execPath, ["-e", source()], {
      // A session of its own: Ctrl-C and a signal to this program's group must not reach it.
      detached: true,
      stdio: ["pipe", "pipe", "inherit", streams.stdout, streams.stderr, streams.stdin ?? "ignore"],
      // Options for debugging or loading code are meant for this program, not for the supervisor.
      env: { ...commandEnvironment(process.env), NODE_OPTIONS: "" },
    });
    this.closed = new Promise((resolve) => {
      const done = () => {
        this.lost();
        resolve();
      };
      this.process.on("error", done);
      this.process.on("close", done);
    });
    // A supervisor that was killed closes its pipe under a write; `lost` deals with that.
    this.process.stdin?.on("error", () => {});
    this.listen();
  }

  get pid(): number | undefined {
    return this.process.pid;
  }

  /** Starts a command; the one before it must have gone. */
  run(job: Omit<Job, "mark">): RunningJob {
    const mark = jobMark();
    const { graceMs, env } = job;
    let start: Pending["start"] = () => {};
    let end: Pending["end"] = () => {};
    const started = new Promise<number | undefined>((resolve) => {
      start = resolve;
    });
    const gone = new Promise<JobEnd>((resolve) => {
      end = resolve;
    });
    const pending: Pending = { start, end, graceMs, mark, code: null, signal: null };
    const { pid } = this.process;
    if (this.pending !== undefined || this.ended || pid === undefined) {
      this.refuse(
        pending,
        this.pending ? "another command still runs" : "its supervisor has ended",
      );
    } else {
      this.pending = pending;
      // Before it starts: from here on nothing can happen that would leave it without a trace.
      this.records.begin(mark.id, pid, { graceMs });
      this.order({ order: "run", job: { ...job, mark, env: marked(env, mark) } });
    }
    return { started, gone };
  }

  /** Stops the running command, if any: TERM, then KILL after its grace time. */
  stop(): void {
    this.order({ order: "stop" });
  }

  /**
   * Has a git worktree and the directory around it removed when the supervisor ends, in any case.
   */
  removeWorktreeAtEnd(worktree: Worktree): void {
    this.worktreeMark = jobMark().id;
    if (this.process.pid !== undefined)
      this.records.begin(this.worktreeMark, this.process.pid, { graceMs: 0, worktree });
    this.order({ order: "remove-worktree", ...worktree });
  }

  /** Ends the supervisor, after stopping what runs and removing its worktree. */
  async close(): Promise<void> {
    this.process.stdin?.end();
    await this.closed;
    if (this.worktreeMark !== undefined) this.records.ended(this.worktreeMark);
  }

  private order(order: Order): void {
    if (!this.ended) this.process.stdin?.write(`${JSON.stringify(order)}\n`);
  }

  private listen(): void {
    let rest = "";
    this.process.stdout?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      // What the supervisor writes is its own, so its form is known.
      for (const line of lines) this.hear(JSON.parse(line) as Report);
    });
  }

  private hear(report: Report): void {
    const { pending } = this;
    if (pending === undefined) return;
    if (report.report === "started") {
      pending.pgid = report.pgid;
      this.records.started(pending.mark.id, report.pgid);
      pending.start(report.pgid);
    } else if (report.report === "ended") {
      pending.code = report.code;
      pending.signal = report.signal;
    } else {
      this.pending = undefined;
      if (report.report === "not-started") this.refuse(pending, report.message);
      else this.finish(pending, report);
    }
  }

  /**
   * The supervisor is gone. If it was killed during a command, this program ends the group itself.
   */
  private lost(): void {
    if (this.ended) return;
    this.ended = true;
    const { pending } = this;
    this.pending = undefined;
    if (pending === undefined) return;
    const { pgid, mark, graceMs } = pending;
    const { escaped } = jobProcesses(pgid, mark);
    void endProcesses(pgid, mark, graceMs).then((by) => {
      if (pgid !== undefined)
        return this.finish(pending, { by, timedOut: false, escaped: escaped.length });
      this.refuse(pending, "its supervisor ended before the command began", by);
    });
  }

  private refuse(pending: Pending, notStarted: string, by: EndedBy = "itself"): void {
    pending.start();
    this.finish(pending, { by, timedOut: false, escaped: 0, notStarted });
  }

  private finish(pending: Pending, how: Omit<JobEnd, "code" | "signal">): void {
    // What survived is left to the next run.
    if (how.by !== "nothing") this.records.ended(pending.mark.id);
    const { code, signal } = pending;
    const { by, timedOut, escaped, notStarted } = how;
    pending.end({ code, signal, timedOut, by, escaped, ...defined({ notStarted }) });
  }
}

/** Time between TERM and KILL for a command whose bound has passed, in milliseconds. */
const BOUND_GRACE_MS = 5000;

export interface BoundedCommand extends Pick<Job, "argv" | "cwd" | "env"> {
  /** Seconds that it may take; no bound when absent. */
  readonly timeoutSec?: number;
  readonly streams: CommandStreams;
  readonly jobs: JobRecords;
  readonly interrupt: AbortSignal;
}

/**
 * Runs a command in a process group of its own and waits until all of it is gone: bounded, and
 * never outliving this program.
 */
export async function runBounded(
  command: BoundedCommand,
  supervisor?: Supervisor,
): Promise<JobEnd> {
  const own = supervisor ?? new Supervisor(command.streams, command.jobs);
  const stop = () => own.stop();
  try {
    const { argv, cwd, env, timeoutSec, interrupt } = command;
    const boundMs = timeoutSec === undefined ? undefined : Math.ceil(timeoutSec * 1000);
    const job = own.run({
      argv,
      cwd,
      env,
      ...defined({ boundMs }),
      graceMs: BOUND_GRACE_MS,
      endWithLeader: true,
    });
    interrupt.addEventListener("abort", stop);
    if (interrupt.aborted) stop();
    return await job.gone;
  } finally {
    command.interrupt.removeEventListener("abort", stop);
    if (supervisor === undefined) await own.close();
  }
}

/** By what a command ended, in words. */
export const endText = ({ code, signal }: JobEnd): string =>
  code === null ? `was ended by ${signal ?? "a signal"}` : `exited ${code}`;

/** How a command ended, in words; `undefined` when it exited 0 in time. */
export function failureOf(end: JobEnd, timeoutSec: number | undefined): string | undefined {
  if (end.notStarted !== undefined) return `could not be started: ${end.notStarted}`;
  if (end.by === "nothing") return "left a process that survived KILL";
  if (end.timedOut) return `took longer than ${timeoutSec} s`;
  return end.code === 0 ? undefined : endText(end);
}
