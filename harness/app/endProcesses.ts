import type { JobMark } from "./jobMark";
import { jobProcesses } from "./jobProcesses";
import type { EndedBy } from "./supervise";

/** How often processes that end are looked at, in milliseconds. */
const LOOK_MS = 40;

/** How long KILL may take to work, in milliseconds. */
const KILL_PATIENCE_MS = 5000;

/**
 * Ends what still runs of a command whose supervisor is gone: TERM, then KILL after the grace time, to its group (where
 * one is given) and to every process that carries its mark.
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
