import type { EndedBy, JobMark, JobProcesses } from "./jobProcesses";
import type { removeWorktree, Worktree } from "./worktree";

/** One command that the supervisor runs, in a process group of its own. */
export interface Job {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Time after which the group is stopped, in milliseconds; without it there is no bound. */
  readonly boundMs?: number;
  readonly graceMs: number;
  /**
   * Whether what the command leaves running is stopped when it ends; an app may hand over to its
   * children.
   */
  readonly endWithLeader: boolean;
  /** What its processes carry in their environment; `env` holds it too. */
  readonly mark: JobMark;
}

/** Orders to the supervisor, one JSON document a line. */
export type Order =
  | { readonly order: "run"; readonly job: Job }
  | { readonly order: "stop" }
  /**
   * A git worktree that is removed at the end in any case, together with the directory around it.
   */
  | ({ readonly order: "remove-worktree" } & Worktree);

/** Reports of the supervisor, one JSON document a line. */
export type Report =
  | { readonly report: "started"; readonly pgid: number }
  | { readonly report: "not-started"; readonly message: string }
  | { readonly report: "ended"; readonly code: number | null; readonly signal: string | null }
  | {
      readonly report: "gone";
      readonly by: EndedBy;
      readonly timedOut: boolean;
      readonly escaped: number;
    };

/** One command that runs, and what has become of it so far. */
interface Running {
  readonly job: Job;
  readonly pgid: number;
  timedOut: boolean;
  stopping: boolean;
  by: EndedBy;
  readonly escaped: Set<number>;
}

/**
 * The supervisor: a small process in a session of its own that starts commands for the driver and
 * outlives it just long enough to end them. It reads orders from a pipe that only the driver holds;
 * when the pipe closes, for whatever reason (SIGKILL of the driver included), it stops the group
 * that runs, TERM first and KILL after the grace time, removes the worktree that it was told of,
 * and goes. Processes that left the group are ended with it, by their mark.
 *
 * It runs as `node -e` from its own source text, since the command line is one bundled file: so
 * nothing from outside this class may be used in it. The two functions that it needs are handed in
 * the same way. Descriptors 3 and 4 are the commands' stdout and stderr, 5 their stdin.
 */
export class Supervising {
  private readonly spawn = process.getBuiltinModule("node:child_process").spawn;
  private readonly fs = process.getBuiltinModule("node:fs");
  private readonly lookMs = 40;
  /** Grace time for what a command has left behind when it ended by itself, in milliseconds. */
  private readonly leftoverGraceMs = 1000;
  /**
   * How long KILL may take to work before it is given up (a process of another user, or stuck in
   * the kernel), in milliseconds.
   */
  private readonly killPatienceMs = 5000;
  /**
   * Longest time that Node's timers hold, in milliseconds (2^31 - 1); a longer bound is cut to
   * these 24.8 days.
   */
  private readonly longestTimerMs = 2147483647;

  private running: Running | undefined;
  private worktree: Worktree | undefined;
  private leaving = false;

  constructor(
    private readonly jobProcesses: (pgid: number, mark: JobMark) => JobProcesses,
    private readonly remove: typeof removeWorktree,
  ) {}

  /** Obeys the orders that come through stdin, until it closes. */
  listen(): void {
    const leave = () => this.leave();
    for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(name, leave);
    let rest = "";
    process.stdin.setEncoding("utf8");
    process.stdin.on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.obey(JSON.parse(line) as Order);
    });
    process.stdin.on("end", leave);
    process.stdin.on("error", leave);
  }

  private obey(order: Order): void {
    if (order.order === "run") this.run(order.job);
    else if (order.order === "remove-worktree") this.worktree = order;
    else if (this.running !== undefined) this.stop(this.running, this.running.job.graceMs);
  }

  private run(job: Job): void {
    if (this.leaving) return;
    const [file = "", ...args] = job.argv;
    const child = this.spawn(file, args, {
      cwd: job.cwd,
      env: job.env,
      detached: true,
      stdio: [5, 3, 4],
    });
    const pgid = child.pid;
    child.on("error", (error) => {
      if (pgid === undefined) this.tell({ report: "not-started", message: error.message });
    });
    if (pgid === undefined) return;
    const current: Running = {
      job,
      pgid,
      timedOut: false,
      stopping: false,
      by: "itself",
      escaped: new Set(),
    };
    this.running = current;
    this.tell({ report: "started", pgid });
    if (job.boundMs !== undefined) {
      const bound = setTimeout(
        () => {
          current.timedOut = true;
          this.stop(current, job.graceMs);
        },
        Math.min(job.boundMs, this.longestTimerMs),
      );
      bound.unref();
      child.on("exit", () => clearTimeout(bound));
    }
    child.on("exit", (code, name) => {
      this.tell({ report: "ended", code, signal: name });
      this.settle(current);
    });
  }

  /**
   * Stops what a command that has ended left behind; only an app hands over to others of its group.
   */
  private settle(current: Running): void {
    if (current.stopping) return;
    const { groupLives, escaped } = this.look(current);
    if (groupLives && !current.job.endWithLeader)
      setTimeout(() => this.settle(current), this.lookMs);
    else if (groupLives || escaped.length > 0) this.stop(current, this.leftoverGraceMs);
    else this.gone(current);
  }

  private stop(current: Running, graceMs: number): void {
    if (current.stopping) return;
    current.stopping = true;
    const deadline = Date.now() + graceMs;
    if (this.look(current).groupLives) current.by = "term";
    this.signal(current, "SIGTERM");
    // A stopped process does not take TERM before it is continued.
    this.signal(current, "SIGCONT");
    setTimeout(() => this.watch(current, deadline), 1);
  }

  /** Looks until all of a command has gone, with KILL from the deadline on. */
  private watch(current: Running, deadline: number): void {
    const { groupLives, escaped } = this.look(current);
    if (!groupLives && escaped.length === 0) {
      this.gone(current);
      return;
    }
    const left = deadline - Date.now();
    if (left + this.killPatienceMs <= 0) {
      current.by = "nothing";
      this.gone(current);
      return;
    }
    if (left <= 0) {
      if (groupLives) current.by = "kill";
      this.signal(current, "SIGKILL");
    }
    const pause = left > 0 ? Math.min(this.lookMs, left) : this.lookMs;
    setTimeout(() => this.watch(current, deadline), pause);
  }

  private gone(current: Running): void {
    this.running = undefined;
    const { by, timedOut, escaped } = current;
    this.tell({ report: "gone", by, timedOut, escaped: escaped.size });
    if (this.leaving) this.leave();
  }

  private leave(): void {
    this.leaving = true;
    if (this.running === undefined) {
      if (this.worktree !== undefined) this.remove(this.worktree, process.env);
      process.exit(0);
    }
    this.stop(this.running, this.running.job.graceMs);
  }

  private look({ pgid, job }: Running): JobProcesses {
    return this.jobProcesses(pgid, job.mark);
  }

  private signal(current: Running, name: NodeJS.Signals): void {
    this.send(-current.pgid, name);
    for (const pid of this.look(current).escaped) {
      current.escaped.add(pid);
      this.send(pid, name);
    }
  }

  private send(target: number, name: NodeJS.Signals): void {
    try {
      process.kill(target, name);
    } catch {
      // It has ended in the meantime.
    }
  }

  private tell(report: Report): void {
    try {
      this.fs.writeSync(1, `${JSON.stringify(report)}\n`);
    } catch {
      // The driver is gone; the closed pipe says so too.
    }
  }
}
