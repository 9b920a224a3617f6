import { randomUUID } from "node:crypto";

/**
 * What a command's processes carry in their environment, so that they are found wherever they went:
 * a process leaves its group with `setsid`, but its environment goes with it to its children.
 * Jenkins finds what a build left behind in the same way, by its BUILD_ID. A process that must
 * outlive its run is started without the variable.
 */
export interface JobMark {
  readonly variable: string;
  /**
   * One of the ids, separated by colons, that the variable holds: a run within a run carries both
   * marks.
   */
  readonly id: string;
}

const VARIABLE = "LOCAL_SERVING_JOB";

/** The mark of an id that no other command has. */
export const jobMark = (id: string = randomUUID()): JobMark => ({ variable: VARIABLE, id });

/** An environment with the mark added to those that are in it. */
export function marked(
  env: Readonly<Record<string, string>>,
  { variable, id }: JobMark,
): Record<string, string> {
  const outer = env[variable];
  return { ...env, [variable]: outer === undefined || outer === "" ? id : `${outer}:${id}` };
}

/**
 * What still runs of a command. A zombie does not run: nothing can end it, and nothing needs to.
 */
export interface JobProcesses {
  readonly groupLives: boolean;
  /** Processes outside the group that carry the command's mark. Only where /proc tells (Linux). */
  readonly escaped: readonly number[];
}

/**
 * Looks for what still runs of a command: the members of its group, and those that left the group
 * and carry its mark. Without a group everything that carries the mark is `escaped`; without a mark
 * nothing is.
 *
 * This function is also sent as text to the supervisor (see supervise.ts), so it uses nothing from
 * outside itself.
 */
export function jobProcesses(pgid: number | undefined, mark: JobMark | undefined): JobProcesses {
  const fs = process.getBuiltinModule("node:fs");
  function text(path: string) {
    try {
      return fs.readFileSync(path, "utf8");
    } catch {
      // It has ended meanwhile, or it is another user's.
      return undefined;
    }
  }
  function hasMark(pid: string) {
    if (mark === undefined) return false;
    const environment = text(`/proc/${pid}/environ`) ?? "";
    // Most processes of a machine are others', and each look reads them all.
    if (!environment.includes(mark.id)) return false;
    return environment.split("\0").some((entry) => {
      const [name, value = ""] = entry.split("=", 2);
      return name === mark.variable && value.split(":").includes(mark.id);
    });
  }
  function exists(group: number) {
    try {
      process.kill(-group, 0);
      return true;
    } catch (error) {
      // EPERM: there are members, but under another user (macOS says it of zombies too).
      return (error as NodeJS.ErrnoException).code === "EPERM";
    }
  }
  function pidsToLookAt() {
    if (group === undefined && mark === undefined) return [];
    try {
      return fs.readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
    } catch {
      return [];
    }
  }
  const group = pgid !== undefined && exists(pgid) ? pgid : undefined;
  let readAny = false;
  let inGroup = false;
  const escaped: number[] = [];
  for (const pid of pidsToLookAt()) {
    const stat = text(`/proc/${pid}/stat`);
    if (stat === undefined) continue;
    readAny = true;
    // "pid (name) state ppid pgrp ...": the name may hold anything, brackets included, so read from
    // its end.
    const [state = "", , its] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (["Z", "X", "x"].includes(state)) continue;
    if (Number(its) === group) inGroup = true;
    else if (hasMark(pid)) escaped.push(Number(pid));
  }
  return { groupLives: group !== undefined && (inGroup || !readAny), escaped };
}

/**
 * What ended a command: it ended by itself, on TERM, or only on KILL. `nothing`: not even KILL
 * ended all of it.
 */
export type EndedBy = "itself" | "term" | "kill" | "nothing";

const LOOK_MS = 40;

/** How long KILL may take to work, in milliseconds. */
const KILL_PATIENCE_MS = 5000;

/**
 * Ends what still runs of a command whose supervisor is gone: TERM, then KILL after the grace time,
 * to its group (where one is given) and to every process that carries its mark.
 */
export async function endProcesses(
  pgid: number | undefined,
  mark: JobMark,
  graceMs: number,
): Promise<EndedBy> {
  for (const [signal, patience, by] of [
    ["SIGTERM", graceMs, "term"],
    ["SIGKILL", KILL_PATIENCE_MS, "kill"],
  ] as const) {
    const deadline = Date.now() + patience;
    send(signal, pgid, mark);
    while (lives(pgid, mark) && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      // More may have been started since the last look.
      if (signal === "SIGKILL") send(signal, pgid, mark);
    }
    if (!lives(pgid, mark)) return by;
  }
  return "nothing";
}

function lives(pgid: number | undefined, mark: JobMark): boolean {
  const { groupLives, escaped } = jobProcesses(pgid, mark);
  return groupLives || escaped.length > 0;
}

function send(signal: NodeJS.Signals, pgid: number | undefined, mark: JobMark): void {
  const targets = [...(pgid === undefined ? [] : [-pgid]), ...jobProcesses(pgid, mark).escaped];
  for (const target of targets) {
    try {
      process.kill(target, signal);
      // A stopped process does not take TERM before it is continued.
      if (signal === "SIGTERM") process.kill(target, "SIGCONT");
    } catch {
      // Ended in the meantime, or another user's; the next look tells.
    }
  }
}
