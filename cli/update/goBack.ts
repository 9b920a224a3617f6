import { Failed } from "@local-serving/base/commandLine/exit";
import { say } from "@local-serving/base/commandLine/output";
import type { Decided } from "@local-serving/machines/update/record";
import { changesOf } from "../../components/change";
import { putBackMigrated } from "../copies/putBackMigrated";
import type { PlannedStack } from "../stack/readStack";
import { awayOf, probe, waitForParts } from "./ask";
import { decide, type UpdateSeen } from "./decide";
import { doctorOf, keepFailed } from "./keepFailed";
import { keepRecord } from "./keepRecord";
import { merged, namedParts, partsOf } from "./parts";
import { type Begun, engineUp, type Task, tell, writeDown } from "./task";
import { awayText, goingBackText, INTERRUPTED, notTheUpdateText, putBackText } from "./words";

/** An update that goes back, and the stack file that it goes back to. */
export interface GoingBack {
  readonly task: Task;
  readonly to: PlannedStack;
  readonly begun: Omit<Begun, "resumed">;
  readonly decided: Decided;
}

/**
 * Puts back the data of services whose newer image has migrated them, before the engine starts the
 * older one. It may run twice. Servers go back even where data can't. Returns whether all data are
 * there that could be told to be needed.
 */
async function putBackData({ task, to }: GoingBack): Promise<boolean> {
  let fits = true;
  for (const machine of to.plan.machines)
    for (const { name } of machine.services) {
      const { did, sentence } = await putBackMigrated(machine, name).catch((error: unknown) => {
        if (error instanceof Failed) return { did: "unknown", sentence: error.message };
        throw error;
      });
      if (did === "unknown") fits = false;
      if (sentence !== "") tell(task, sentence);
    }
  return fits;
}

/** Keeps what failed, writes down that it goes back, and applies the verified stack file. */
export async function goBack(
  task: Task,
  to: PlannedStack,
  begun: Omit<Begun, "resumed">,
  { why, after }: { readonly why: Omit<Decided, "kept"> } & Pick<UpdateSeen, "after">,
): Promise<number> {
  tell(task, goingBackText(why, to.file));
  const { file, text, plan } = task.now;
  const failure = { file, text, machines: plan.machines, parts: begun.parts, probes: after };
  const { folder } = await keepFailed(failure);
  const decided = { ...why, kept: folder };
  const changed = partsOf(
    changesOf(plan.machines, to.plan.machines),
    [...plan.machines, ...to.plan.machines],
    to.settings.machines,
  );
  const parts = merged(begun.parts, changed);
  const going = { task, to, begun: { ...begun, parts }, decided };
  // A disk that is full is no reason to stay.
  await writeDown(task, "back", going.begun, decided).catch((error: Error) => say(error.message));
  return finishBack(going);
}

/** Applies the verified stack file, waits for it, and probes it. Returns the exit code. */
export async function finishBack(going: GoingBack): Promise<number> {
  const { task, to, begun, decided } = going;
  const dataFit = await putBackData(going);
  const { machines } = to.plan;
  const parts = begun.parts.filter((part) =>
    machines.some((machine) => namedParts(machine, [part]).length > 0),
  );
  const engine = await engineUp(task, to);
  if (task.signal.aborted) return ends(task, INTERRUPTED);
  const away = engine.code === 0 ? undefined : await awayOf(machines);
  if (away !== undefined) return ends(task, awayText(away));
  const waited = engine.code === 0 ? await waitForParts(machines, parts, task.signal) : [];
  if (task.signal.aborted) return ends(task, INTERRUPTED);
  const isUp = engine.code === 0 && waited.every(({ result }) => result.outcome === "ready");
  const after = isUp ? await probe(machines, parts, { stackFile: task.now.file }) : [];
  const { passed } = begun;
  const decision = decide({ engine: { ...engine, touched: true }, waited, passed, after });
  const failed = { ...decided, settings: task.settings, at: new Date().toISOString() };
  if (decision.kind === "back") {
    const failure = { file: task.now.file, text: to.text, machines, parts, probes: after };
    await keepRecord(task.keeper, dataFit ? {} : { failed });
    const doctor = await doctorOf(failure);
    return ends(task, notTheUpdateText(decided, decision.why, doctor, dataFit));
  }
  await keepRecord(task.keeper, { failed });
  const again = after.filter(({ id, status }) => status === "pass" && passed.includes(id));
  return ends(task, putBackText(decided, to.file, again.length));
}

function ends(task: Task, text: string): number {
  tell(task, text);
  return 1;
}
