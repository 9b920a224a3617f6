import { type ChildProcess, spawn } from "node:child_process";
import { commandEnvironment } from "./commandEnvironment";
import { groupLives } from "./groupLives";
import { type EndedBy, type Job, type Order, type Report, supervise } from "./supervise";

/** Descriptors that the supervised commands get. */
export interface CommandStreams {
  readonly stdout: number;
  readonly stderr: number;
  /** Nothing to read when absent. */
  readonly stdin?: number;
}

/** How a supervised command ended. */
export interface JobEnd {
  /** Exit code of the command itself; `null` when a signal ended it. */
  readonly code: number | null;
  readonly signal: string | null;
  /** Whether its bound passed. */
  readonly timedOut: boolean;
  /** What ended its group; `nothing` means that some of it still runs. */
  readonly by: EndedBy;
}

/** A command that runs under a supervisor. */
export interface RunningJob {
  /** Process group, once it has started. Rejects with `CommandNotStarted`. */
  readonly started: Promise<number>;
  /** Settles when the last process of the group has gone. Rejects with `CommandNotStarted`. */
  readonly gone: Promise<JobEnd>;
}

/** A command could not be started at all: no shell, no such directory, or no supervisor. */
export class CommandNotStarted extends Error {
  override readonly name = "CommandNotStarted";
}

interface Pending {
  readonly start: (pgid: number) => void;
  readonly end: (end: JobEnd) => void;
  readonly fail: (error: Error) => void;
  readonly graceMs: number;
  pgid?: number;
  code: number | null;
  signal: string | null;
}

/** What a supervisor runs when it is started: its own source text, since everything else is in one bundled file. */
function source(): string {
  // Some loaders wrap functions in a helper called __name; in a text of its own it has to be brought along.
  return `const __name = (f) => f; (${supervise.toString()})(${groupLives.toString()});`;
}

/**
 * Runs commands one after the other, each in a process group of its own, in such a way that no process of the group
 * outlives this program, however it ends. See `supervise` for the process that keeps this promise.
 */
export class Supervisor {
  private readonly process: ChildProcess;
  private readonly closed: Promise<void>;
  private pending: Pending | undefined;
  private jobs = 0;
  private ended = false;

  constructor(streams: CommandStreams) {
    this.process = spawn(process.execPath, ["-e", source()], {
      // A session of its own: Ctrl-C and a signal to this program's group must not reach it.
      detached: true,
      stdio: ["pipe", "pipe", "inherit", streams.stdout, streams.stderr, streams.stdin ?? "ignore"],
      // Options for debugging or loading code are meant for this program, not for the supervisor.
      env: commandEnvironment(process.env, { NODE_OPTIONS: "" }),
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

  /** Process id of the supervisor itself. */
  get pid(): number | undefined {
    return this.process.pid;
  }

  /** Starts a command; the one before it must have gone. */
  run(job: Omit<Job, "id">): RunningJob {
    const id = ++this.jobs;
    let fail: (error: Error) => void = () => {};
    let start: (pgid: number) => void = () => {};
    let end: (end: JobEnd) => void = () => {};
    const started = new Promise<number>((resolve, reject) => {
      start = resolve;
      fail = reject;
    });
    const gone = new Promise<JobEnd>((resolve, reject) => {
      end = resolve;
      started.catch(reject);
    });
    // Whoever waits for one of them only must not be ended by the other's rejection.
    started.catch(() => {});
    gone.catch(() => {});
    if (this.pending !== undefined || this.ended) {
      fail(new CommandNotStarted(this.ended ? "its supervisor has ended" : "another command still runs"));
    } else {
      this.pending = { start, end, fail, graceMs: job.graceMs, code: null, signal: null };
      this.order({ order: "run", job: { ...job, id } });
    }
    return { started, gone };
  }

  /** Stops the running command, if any: TERM, then KILL after its grace time. */
  stop(): void {
    this.order({ order: "stop" });
  }

  /** Has a git worktree and the directory around it removed when the supervisor ends, come what may. */
  removeWorktreeAtEnd(repository: string, parent: string, directory: string): void {
    this.order({ order: "remove-worktree", repository, parent, directory });
  }

  /** Ends the supervisor, after stopping what runs and removing its worktree. */
  async close(): Promise<void> {
    this.process.stdin?.end();
    await this.closed;
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
      pending.start(report.pgid);
    } else if (report.report === "ended") {
      pending.code = report.code;
      pending.signal = report.signal;
    } else {
      this.pending = undefined;
      if (report.report === "not-started") pending.fail(new CommandNotStarted(report.message));
      else {
        const { code, signal } = pending;
        pending.end({ code, signal, timedOut: report.timedOut, by: report.by });
      }
    }
  }

  /** The supervisor is gone. Was it killed in the midst of a command, this program has to end the group itself. */
  private lost(): void {
    if (this.ended) return;
    this.ended = true;
    const { pending } = this;
    this.pending = undefined;
    if (pending === undefined) return;
    if (pending.pgid === undefined) {
      pending.fail(new CommandNotStarted("its supervisor ended before the command began"));
      return;
    }
    void endGroup(pending.pgid, pending.graceMs).then((by) => {
      pending.end({ code: pending.code, signal: pending.signal, timedOut: false, by });
    });
  }
}

/** How often a group that ends is looked at, in milliseconds. */
const LOOK_MS = 40;

/** How long KILL may take to work, in milliseconds. */
const KILL_PATIENCE_MS = 5000;

async function endGroup(pgid: number, graceMs: number): Promise<EndedBy> {
  for (const [signal, patience, by] of [
    ["SIGTERM", graceMs, "term"],
    ["SIGKILL", KILL_PATIENCE_MS, "kill"],
  ] as const) {
    try {
      process.kill(-pgid, signal);
    } catch {
      // Ended in the meantime, or another user's; the next look tells.
    }
    const deadline = Date.now() + patience;
    while (groupLives(pgid) && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    if (!groupLives(pgid)) return by;
  }
  return "nothing";
}
