import { randomUUID } from "node:crypto";

/**
 * What a command's processes carry in their environment, so that they are found wherever they went: a process leaves its
 * group with `setsid`, but its environment goes with it to its children. Jenkins finds what a build left behind in the
 * same way, by its BUILD_ID. A process that must outlive its run is started without the variable.
 */
export interface JobMark {
  /** Name of the variable. */
  readonly variable: string;
  /** One of the ids, separated by colons, that the variable holds: a run within a run carries both marks. */
  readonly id: string;
}

const VARIABLE = "LOCAL_SERVING_JOB";

/** The mark of an id, which nobody else has. */
export function jobMark(id: string = randomUUID()): JobMark {
  return { variable: VARIABLE, id };
}

/** An environment with the mark added to those that are in it. */
export function marked(
  env: Readonly<Record<string, string>>,
  { variable, id }: JobMark,
): Record<string, string> {
  const outer = env[variable];
  return { ...env, [variable]: outer === undefined || outer === "" ? id : `${outer}:${id}` };
}
