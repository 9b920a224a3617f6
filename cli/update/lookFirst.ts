import { changesOf, isUnchanged, type MachineChange } from "../../components/change";
import { preflight } from "../../components/preflight";
import { AGAIN } from "../../components/preflight/fetch";
import { placeOf } from "../../components/settings";
import type { Judged } from "../../policies/judge";
import { stateIsEmpty } from "../engine/backend";
import { policyLevels } from "../engine/drive";
import { whyNotFetched } from "../fetch/needs";
import { mendsByReading, unreadEntries } from "../pin/unread";
import type { ImageEntry } from "../pin/writePin";
import { policiesOn } from "../plan/judgedPlan";
import type { PlannedStack } from "../stack/readStack";
import { projectFolder } from "../stack/stackFile";
import { type Lacking, lackingOnThoseThere } from "./bring";
import type { Task } from "./task";
import { readApplied } from "./verifiedUp";
import type { Applied } from "./wayBack";

/** What is known of an update before anything is asked or changed. */
export interface Looked {
  readonly applied: Applied;
  readonly changes: readonly MachineChange[];
  /** Whether the stack file has nothing that wasn't applied. */
  readonly isApplied: boolean;
  /** Entries whose image is looked into first. */
  readonly unread: readonly ImageEntry[];
  readonly lacking: readonly Lacking[];
  /** What policies and the machines themselves say. */
  readonly judged: readonly Judged[];
}

/** Looks at all that may refuse an update, and at what it needs. Nothing is changed. */
export async function lookFirst(task: Task, fetches: boolean): Promise<Looked> {
  const { now } = task;
  const applied = await readApplied(now);
  const changes = changesOf(applied.machines, now.plan.machines);
  const isApplied =
    applied.machines.length === now.plan.machines.length && changes.every(isUnchanged);
  const unread = fetches ? unreadEntries(now.settings) : [];
  const policies = judgedOf(task, now).filter((each) => !mendsByReading(each, unread, now));
  const machines = await onMachines(task);
  // What is refused is not asked for at a registry.
  const isRefused = [...policies, ...machines].some(refuses);
  const looksUp = fetches && !isRefused && (!isApplied || unread.length > 0);
  const lacking = looksUp ? await lackingOnThoseThere(now) : [];
  const room = lacking.flatMap(({ machine, needs }) =>
    whyNotFetched(needs, AGAIN.up).map((why) => refusal(machine.name, why)),
  );
  return {
    applied,
    changes,
    isApplied,
    unread,
    lacking,
    judged: [...policies, ...machines, ...room],
  };
}

/** What the name of a finding of a machine itself begins with. */
export const PREFLIGHT = "preflight";

export const refuses = ({ verdict }: Pick<Judged, "verdict">): boolean => verdict === "refused";

/** What the policies say of a stack file, by the levels that the engine gets. */
export const judgedOf = ({ options }: Pick<Task, "options">, now: PlannedStack): Judged[] =>
  policiesOn(now, policyLevels(projectFolder(), options));

/** What `up` would refuse of the machines themselves, and what it warns of. */
async function onMachines({ stack, now, settings }: Task): Promise<Judged[]> {
  const found = await preflight(now.plan, {
    locate: (path) => placeOf(now.settings, path),
    fingerprint: settings,
    isNew: stateIsEmpty(projectFolder(), stack, process.env),
  });
  return found.map((each) => ({ ...each, level: "mandatory", resource: "" }));
}

const refusal = (machine: string, message: string): Judged => ({
  name: `${PREFLIGHT} of ${machine}`,
  level: "mandatory",
  verdict: "refused",
  resource: "",
  message,
});
