/**
 * Whether a process group still has a member that runs. A zombie does not run: where /proc tells (Linux), members that
 * only wait to be reaped are not counted, since nothing can end them and nothing needs to.
 *
 * This function is also sent as text to the supervisor (see supervise.ts), so it uses nothing from outside itself.
 */
export function groupLives(pgid: number): boolean {
  try {
    process.kill(-pgid, 0);
  } catch (error) {
    // EPERM: there are members, but under another user (macOS says it of zombies too).
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  const fs = process.getBuiltinModule("node:fs");
  let entries: string[];
  try {
    entries = fs.readdirSync("/proc");
  } catch {
    return true;
  }
  let readAny = false;
  for (const entry of entries) {
    if (!/^\d+$/.test(entry)) continue;
    let stat: string;
    try {
      stat = fs.readFileSync(`/proc/${entry}/stat`, "utf8");
    } catch {
      continue;
    }
    readAny = true;
    // "pid (name) state ppid pgrp ...": the name may hold anything, brackets included, so read from its end.
    const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (Number(group) === pgid && state !== "Z" && state !== "X" && state !== "x") return true;
  }
  return !readAny;
}
