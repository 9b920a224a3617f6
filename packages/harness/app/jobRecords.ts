import * as fs from "node:fs";
import { basename, join } from "node:path";
import { attempt } from "@local-serving/base/faults/defined";
import * as z from "zod";
import { WORKTREE_PREFIX } from "./worktree";

/**
 * A process that can't be confused with another: its number is reused, but never with the same
 * start. The start is in clock ticks since boot. It is "" if the system doesn't tell, and then the
 * process can't be recognized later.
 */
const identitySchema = z.object({ pid: z.int().min(1), start: z.string() });

type ProcessIdentity = Readonly<z.infer<typeof identitySchema>>;

/**
 * Position of the start in /proc/PID/stat, counted behind the program's name (proc(5): field 22).
 */
const START_FIELD = 19;

export const identityOf = (pid: number): ProcessIdentity => ({ pid, start: startOf(pid) ?? "" });

/** Whether that very process still runs; a zombie does not. */
export const stillRuns = ({ pid, start }: ProcessIdentity): boolean =>
  start !== "" && startOf(pid) === start;

function startOf(pid: number): string | undefined {
  const stat = attempt(() => fs.readFileSync(`/proc/${pid}/stat`, "utf8"));
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" ? undefined : fields[START_FIELD];
}

/**
 * Where process numbers mean what they mean here: since one boot of one kernel, in one namespace of
 * it.
 */
const placeSchema = z.object({ boot: z.string(), namespace: z.string() });

/** The place in which this program runs; `undefined` where the system has no /proc. */
export function processPlace(): Readonly<z.infer<typeof placeSchema>> | undefined {
  return attempt(() => ({
    boot: fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(),
    namespace: fs.readlinkSync("/proc/self/ns/pid"),
  }));
}

const recordSchema = z.object({
  mark: z.uuid(),
  place: placeSchema,
  /**
   * The two processes that end the command in order. While one of them runs, it takes care of the
   * command.
   */
  driver: identitySchema,
  supervisor: identitySchema,
  graceMs: z.number().min(0),
  /** The first process of the command's group, once there is one. */
  leader: identitySchema.optional(),
  /**
   * A checkout that is removed when the run ends. It has a record of its own, whose mark no process
   * carries.
   */
  worktree: z
    .object({
      repository: z.string(),
      parent: z.string().refine((path) => basename(path).startsWith(WORKTREE_PREFIX)),
      directory: z.string(),
    })
    .optional(),
});

/**
 * A command that runs, or whose end isn't noted yet: enough to find its processes and to recognize
 * them.
 */
export type JobRecord = z.infer<typeof recordSchema>;

const ENDING = ".json";

const HALF = `${ENDING}.new`;

/**
 * After this time no run is still writing a record, in milliseconds. Writing takes far less than
 * one.
 */
const WRITING_MS = 1000;

/**
 * The commands that run, each in a file of its own, so that the next run ends what this one leaves
 * when this program and its supervisor are killed at the same moment. A file is there before its
 * command starts and goes when all of it has gone. Where the system does not tell processes apart
 * (no /proc) nothing is written.
 */
export class JobRecords {
  constructor(private readonly directory: string) {}

  /**
   * Notes a command that is about to start, or a checkout that is about to be made. Throws the file
   * system's error.
   */
  begin(mark: string, supervisor: number, what: Pick<JobRecord, "graceMs" | "worktree">): void {
    const place = processPlace();
    if (place === undefined) return;
    const owners = { driver: identityOf(process.pid), supervisor: identityOf(supervisor) };
    this.write({ mark, place, ...owners, ...what });
  }

  /**
   * Notes the process that its group began with; a record that can't be written any more still has
   * the mark.
   */
  started(mark: string, pgid: number): void {
    const record = this.read(`${mark}${ENDING}`);
    try {
      if (record !== undefined) this.write({ ...record, leader: identityOf(pgid) });
    } catch {
      // A full disk must not end the command.
    }
  }

  /** Forgets a command of which nothing is left. */
  ended(mark: string): void {
    fs.rmSync(join(this.directory, `${mark}${ENDING}`), { force: true });
  }

  /** Every record; other files are passed over. */
  all(): JobRecord[] {
    return this.names(ENDING).flatMap((name) => {
      const record = this.read(name);
      return record !== undefined && name === `${record.mark}${ENDING}` ? [record] : [];
    });
  }

  /**
   * Removes the records that were never finished because their run was killed while it wrote them.
   */
  removeUnfinished(isOver: (record: JobRecord) => boolean): void {
    for (const name of this.names(HALF)) {
      const record = this.read(name);
      const file = join(this.directory, name);
      const written = fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
      if (record === undefined ? Date.now() - written > WRITING_MS : isOver(record))
        fs.rmSync(file, { force: true });
    }
  }

  private names(ending: string): string[] {
    return (attempt(() => fs.readdirSync(this.directory)) ?? []).filter((name) =>
      name.endsWith(ending),
    );
  }

  private read(name: string): JobRecord | undefined {
    return attempt(() =>
      recordSchema.parse(JSON.parse(fs.readFileSync(join(this.directory, name), "utf8"))),
    );
  }

  private write(record: JobRecord): void {
    fs.mkdirSync(this.directory, { recursive: true, mode: 0o700 });
    const half = join(this.directory, `${record.mark}${HALF}`);
    // A reader sees a whole record or none. It need not survive a power cut, which ends the
    // processes too.
    fs.writeFileSync(half, JSON.stringify(record), { mode: 0o600 });
    fs.renameSync(half, join(this.directory, `${record.mark}${ENDING}`));
  }
}
