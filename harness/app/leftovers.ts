import { endProcesses } from "./endProcesses";
import { jobMark } from "./jobMark";
import { jobProcesses } from "./jobProcesses";
import type { JobRecord, JobRecords } from "./jobRecords";
import { processPlace, stillRuns } from "./processIdentity";
import type { EndedBy } from "./supervise";

/** A command that an earlier run left running, and what ended it. */
export interface Leftover {
  /** How many processes carried its mark; members of its group that had lost it are not counted. */
  readonly processes: number;
  readonly by: EndedBy;
}

/**
 * Ends what an earlier run left running because it and its supervisor were killed at the same moment. A process is ended
 * only when it is known to be that run's: it carries the mark, or it is in the group of the very process that the run
 * started, or of one that carries the mark. Commands of a run that lives are left alone.
 */
export async function endLeftovers(jobs: JobRecords): Promise<Leftover[]> {
  const ended = await Promise.all(jobs.all().map((record) => endLeftover(record, jobs)));
  return ended.flatMap((leftover) => leftover ?? []);
}

async function endLeftover(record: JobRecord, jobs: JobRecords): Promise<Leftover | undefined> {
  const here = processPlace();
  // Numbers of another container mean other processes; it may still run there.
  if (here === undefined || (here.boot === record.place.boot && here.namespace !== record.place.namespace))
    return;
  if (here.boot !== record.place.boot) {
    jobs.ended(record.mark);
    return;
  }
  if (stillRuns(record.driver) || stillRuns(record.supervisor)) return;
  const mark = jobMark(record.mark);
  const marked = jobProcesses(undefined, mark).escaped;
  const pgid = ownGroup(record, marked.length);
  const by =
    marked.length === 0 && pgid === undefined ? "itself" : await endProcesses(pgid, mark, record.graceMs);
  if (by !== "nothing") jobs.ended(record.mark);
  return by === "itself" ? undefined : { processes: marked.length, by };
}

/** The command's group, when what has its number now is surely still that group. */
function ownGroup({ leader, mark }: JobRecord, markedProcesses: number): number | undefined {
  if (leader === undefined) return undefined;
  const { groupLives, escaped } = jobProcesses(leader.pid, jobMark(mark));
  const holdsMarked = escaped.length < markedProcesses;
  return groupLives && (holdsMarked || stillRuns(leader)) ? leader.pid : undefined;
}
