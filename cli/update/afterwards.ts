import { say } from "@local-serving/base/commandLine/output";
import type { Part } from "@local-serving/machines/update/record";
import { changesOf } from "../../components/change";
import type { MachinePlan } from "../../components/plan";
import type { Made } from "../engine/eventLog";
import { namedOn } from "../stack/named";
import { keepPassed } from "../verify/lastVerify";
import { waitedText } from "../wait/waitForServer";
import { sayNext } from "./afterUp";
import { probe, waitForParts } from "./ask";
import { doctorOf } from "./keepFailed";
import type { Looked } from "./lookFirst";
import { merged, partsOf } from "./parts";
import { type Task, tell } from "./task";
import { useText } from "./useText";
import type { WholeWay } from "./way";
import { LEFT_RUNNING, NOTHING_TO_CHANGE, probedText } from "./words";

/** What an update made, and what was known of it before. */
interface Done {
  readonly made: readonly Made[];
  readonly looked: Looked;
}

/** Waits for what an update started, probes it, and says how it is used. Returns the exit code. */
export async function afterwards(task: Task, way: WholeWay, done: Done): Promise<number> {
  const { now, signal } = task;
  const { machines } = now.plan;
  if (done.made.length === 0) {
    say(NOTHING_TO_CHANGE);
    return 0;
  }
  if (!way.wait) {
    sayNext(machines, done.made, task.stack);
    return 0;
  }
  const parts = startedParts(task, done);
  const isReady = await waitedFor(task, parts);
  if (!isReady || signal.aborted) return 1;
  const isRight = !way.verify || parts.length === 0 || (await probed(task, parts, done));
  if (!isRight || signal.aborted) return 1;
  say(useText(machines));
  return 0;
}

/** What an update is about: what it was seen to make, and what uses that. */
function startedParts({ now }: Task, { made, looked }: Done): Part[] {
  const { machines } = now.plan;
  const limits = now.settings.machines;
  const isMade = (machine: MachinePlan, name: string) =>
    namedOn(machine).some(
      ({ key, container }) =>
        name === `${machine.name}.${key}` &&
        made.some(({ resource, isNew }) => isNew && resource === container?.resource),
    );
  const all = partsOf(changesOf([], machines), machines, limits);
  const seen = all.filter(({ name }) => machines.some((machine) => isMade(machine, name)));
  return merged(
    seen,
    partsOf(looked.changes, machines, limits).map(({ name }) => ({ name })),
  );
}

/** Whether everything that was started is ready; says how each wait ended. */
async function waitedFor(task: Task, parts: readonly Part[]): Promise<boolean> {
  const { now, signal } = task;
  const { file, text } = now;
  const { machines } = now.plan;
  const waited = await waitForParts(machines, parts, signal);
  if (signal.aborted) {
    sayLeft(task);
    return false;
  }
  for (const { result } of waited) say(waitedText(result));
  if (waited.every(({ result }) => result.outcome === "ready")) return true;
  const doctor = await doctorOf({ file, text, machines, parts, probes: [] });
  if (doctor !== "") say(doctor);
  return false;
}

/** Whether every probe passed that was asked; says so. */
async function probed(task: Task, parts: readonly Part[], { looked }: Done): Promise<boolean> {
  const { now, signal } = task;
  const { machines } = now.plan;
  const about = looked.applied.isThere ? parts : "all";
  const asking = { stackFile: now.file, interrupt: signal };
  const results = await probe(machines, about, asking);
  if (signal.aborted) {
    sayLeft(task);
    return false;
  }
  say(probedText(results));
  const isRight = results.every(({ status }) => status !== "fail");
  if (isRight && results.some(({ status }) => status === "pass")) keepPassed(now.file, now.text);
  return isRight;
}

/** Begins a new line: that of the progress has no end. */
function sayLeft(task: Task): void {
  if (process.stderr.isTTY) say("");
  tell(task, LEFT_RUNNING);
}
