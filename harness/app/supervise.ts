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

/**
 * The supervisor: a small process in a session of its own that starts commands for the driver and
 * outlives it just long enough to end them. It reads orders from a pipe that only the driver holds;
 * when the pipe closes, for whatever reason (SIGKILL of the driver included), it stops the group
 * that runs, TERM first and KILL after the grace time, removes the worktree that it was told of,
 * and goes. Processes that left the group are ended with it, by their mark.
 *
 * It runs as `node -e` from its own source text, since the command line is one bundled file: so
 * nothing from outside this function may be used in it. The two functions that it needs are handed
 * in the same way. Descriptors 3 and 4 are the commands' stdout and stderr, 5 their stdin.
 */
export function supervise(
  jobProcesses: (pgid: number, mark: JobMark) => JobProcesses,
  remove: typeof removeWorktree,
): void {
  const { spawn } = process.getBuiltinModule("node:child_process");
  const fs = process.getBuiltinModule("node:fs");
  const LOOK_MS = 40;
  /** Grace time for what a command has left behind when it ended by itself, in milliseconds. */
  const LEFTOVER_GRACE_MS = 1000;
  /**
   * How long KILL may take to work before it is given up (a process of another user, or stuck in
   * the kernel), in milliseconds.
   */
  const KILL_PATIENCE_MS = 5000;
  /**
   * Longest time that Node's timers hold, in milliseconds (2^31 - 1); a longer bound is cut to
   * these 24.8 days.
   */
  const LONGEST_TIMER_MS = 2147483647;

  interface Running {
    readonly job: Job;
    readonly pgid: number;
    timedOut: boolean;
    stopping: boolean;
    by: EndedBy;
    readonly escaped: Set<number>;
  }
  let running: Running | undefined;
  let worktree: Worktree | undefined;
  let leaving = false;

  const tell = (report: Report) => {
    try {
      fs.writeSync(1, `${JSON.stringify(report)}\n`);
    } catch {
      // The driver is gone; the closed pipe says so too.
    }
  };
  const send = (target: number, name: NodeJS.Signals) => {
    try {
      process.kill(target, name);
    } catch {
      // It has ended in the meantime.
    }
  };
  const look = ({ pgid, job }: Running) => jobProcesses(pgid, job.mark);
  const signal = (current: Running, name: NodeJS.Signals) => {
    send(-current.pgid, name);
    for (const pid of look(current).escaped) {
      current.escaped.add(pid);
      send(pid, name);
    }
  };

  function stop(current: Running, graceMs: number): void {
    if (current.stopping) return;
    current.stopping = true;
    const deadline = Date.now() + graceMs;
    if (look(current).groupLives) current.by = "term";
    signal(current, "SIGTERM");
    // A stopped process does not take TERM before it is continued.
    signal(current, "SIGCONT");
    const watch = () => {
      const { groupLives, escaped } = look(current);
      if (!groupLives && escaped.length === 0) return gone(current);
      const left = deadline - Date.now();
      if (left + KILL_PATIENCE_MS <= 0) {
        current.by = "nothing";
        return gone(current);
      }
      if (left <= 0) {
        if (groupLives) current.by = "kill";
        signal(current, "SIGKILL");
      }
      setTimeout(watch, left > 0 ? Math.min(LOOK_MS, left) : LOOK_MS);
    };
    setTimeout(watch, 1);
  }

  function gone(current: Running): void {
    running = undefined;
    const { by, timedOut, escaped } = current;
    tell({ report: "gone", by, timedOut, escaped: escaped.size });
    if (leaving) leave();
  }

  function run(job: Job): void {
    if (leaving) return;
    const [file = "", ...args] = job.argv;
    const child = spawn(file, args, {
      cwd: job.cwd,
      env: job.env,
      detached: true,
      stdio: [5, 3, 4],
    });
    const pgid = child.pid;
    child.on("error", (error) => {
      if (pgid === undefined) tell({ report: "not-started", message: error.message });
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
    running = current;
    tell({ report: "started", pgid });
    if (job.boundMs !== undefined) {
      const bound = setTimeout(
        () => {
          current.timedOut = true;
          stop(current, job.graceMs);
        },
        Math.min(job.boundMs, LONGEST_TIMER_MS),
      );
      bound.unref();
      child.on("exit", () => clearTimeout(bound));
    }
    child.on("exit", (code, name) => {
      tell({ report: "ended", code, signal: name });
      if (current.stopping) return;
      // What is left behind by a command that has ended is stopped; only an app hands over to
      // others of its group.
      const settle = () => {
        if (current.stopping) return;
        const { groupLives, escaped } = look(current);
        if (groupLives && !job.endWithLeader) return void setTimeout(settle, LOOK_MS);
        if (groupLives || escaped.length > 0) return stop(current, LEFTOVER_GRACE_MS);
        gone(current);
      };
      settle();
    });
  }

  function leave(): void {
    leaving = true;
    if (running === undefined) {
      if (worktree !== undefined) remove(worktree, process.env);
      process.exit(0);
    }
    stop(running, running.job.graceMs);
  }

  function obey(order: Order): void {
    if (order.order === "run") run(order.job);
    else if (order.order === "remove-worktree") worktree = order;
    else if (running !== undefined) stop(running, running.job.graceMs);
  }

  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(name, leave);
  let rest = "";
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) obey(JSON.parse(line) as Order);
  });
  process.stdin.on("end", leave);
  process.stdin.on("error", leave);
}
