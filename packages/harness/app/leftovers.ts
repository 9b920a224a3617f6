import { commandEnvironment } from "./commandEnvironment";
import { type EndedBy, endProcesses, jobMark, jobProcesses } from "./jobProcesses";
import { type JobRecord, type JobRecords, processPlace, stillRuns } from "./jobRecords";
import { removeWorktree } from "./worktree";

/**
 * A command that an earlier run left running, and what ended it. `processes` carried its mark;
 * members of its group that had lost it are not counted.
 */
type Leftover = { readonly processes: number; readonly by: EndedBy };

/**
 * Ends what an earlier run left running because it and its supervisor were killed at the same
 * moment. A process is ended only when it is known to be that run's: it carries the mark, or it is
 * in the group of the very process that the run started, or of one that carries the mark. Commands
 * of a run that lives are left alone. A checkout that it left goes too.
 */
export async function endLeftovers(jobs: JobRecords): Promise<Leftover[]> {
  const here = processPlace();
  if (here === undefined) return [];
  const isOver = ({ place, driver, supervisor }: JobRecord) => {
    // Before a reboot: nothing of it can be left. In another container: it may still run, and its
    // numbers say nothing here.
    if (place.boot !== here.boot) return true;
    return place.namespace === here.namespace && !stillRuns(driver) && !stillRuns(supervisor);
  };
  jobs.removeUnfinished(isOver);
  const left = jobs.all().filter(isOver);
  const ended = await Promise.all(
    left.map((record) => endCommand(record, record.place.boot === here.boot)),
  );
  for (const { worktree } of left)
    if (worktree !== undefined) removeWorktree(worktree, commandEnvironment(process.env));
  return left.flatMap((record, index) => {
    const leftover = ended[index];
    if (leftover?.by !== "nothing") jobs.ended(record.mark);
    return leftover ?? [];
  });
}

async function endCommand(record: JobRecord, sameBoot: boolean): Promise<Leftover | undefined> {
  if (!sameBoot || record.worktree !== undefined) return undefined;
  const mark = jobMark(record.mark);
  const processes = jobProcesses(undefined, mark).escaped.length;
  const pgid = ownGroup(record, processes);
  if (processes === 0 && pgid === undefined) return undefined;
  return { processes, by: await endProcesses(pgid, mark, record.graceMs) };
}

/** Returns the command's group if the group that has its number now is certainly the same. */
function ownGroup({ leader, mark }: JobRecord, markedProcesses: number): number | undefined {
  if (leader === undefined) return undefined;
  const { groupLives, escaped } = jobProcesses(leader.pid, jobMark(mark));
  const holdsMarked = escaped.length < markedProcesses;
  return groupLives && (holdsMarked || stillRuns(leader)) ? leader.pid : undefined;
}
