import type { JobMark } from "./jobMark";

/** What still runs of a command. A zombie does not run: nothing can end it, and nothing needs to. */
export interface JobProcesses {
  /** Whether its process group has a member that runs. */
  readonly groupLives: boolean;
  /** Processes outside the group that carry the command's mark. Only where /proc tells (Linux). */
  readonly escaped: readonly number[];
}

/**
 * Looks for what still runs of a command: the members of its group, and those that left the group and carry its mark.
 * Without a group everything that carries the mark is `escaped`; without a mark nothing is.
 *
 * This function is also sent as text to the supervisor (see supervise.ts), so it uses nothing from outside itself.
 */
export function jobProcesses(pgid: number | undefined, mark: JobMark | undefined): JobProcesses {
  const fs = process.getBuiltinModule("node:fs");
  const text = (path: string) => {
    try {
      return fs.readFileSync(path, "utf8");
    } catch {
      // It has ended meanwhile, or it is another user's.
      return undefined;
    }
  };
  const hasMark = (pid: string) =>
    (text(`/proc/${pid}/environ`) ?? "").split("\0").some((entry) => {
      const [name, value = ""] = entry.split("=", 2);
      return name === mark?.variable && value.split(":").includes(mark?.id ?? "");
    });
  let groupExists = false;
  if (pgid !== undefined) {
    try {
      process.kill(-pgid, 0);
      groupExists = true;
    } catch (error) {
      // EPERM: there are members, but under another user (macOS says it of zombies too).
      groupExists = (error as NodeJS.ErrnoException).code === "EPERM";
    }
  }
  if (!groupExists && mark === undefined) return { groupLives: false, escaped: [] };
  let pids: string[];
  try {
    pids = fs.readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
  } catch {
    return { groupLives: groupExists, escaped: [] };
  }
  let readAny = false;
  let inGroup = false;
  const escaped: number[] = [];
  for (const pid of pids) {
    const stat = text(`/proc/${pid}/stat`);
    if (stat === undefined) continue;
    readAny = true;
    // "pid (name) state ppid pgrp ...": the name may hold anything, brackets included, so read from its end.
    const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (state === "Z" || state === "X" || state === "x") continue;
    if (groupExists && Number(group) === pgid) inGroup = true;
    else if (mark !== undefined && hasMark(pid)) escaped.push(Number(pid));
  }
  return { groupLives: groupExists && (inGroup || !readAny), escaped };
}
