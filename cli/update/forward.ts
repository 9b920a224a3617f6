import { Failed } from "@local-serving/base/commandLine/exit";
import { say } from "@local-serving/base/commandLine/output";
import { defined } from "@local-serving/base/faults/defined";
import type { MachinePlan } from "../../components/plan";
import { keepPassed } from "../verify/lastVerify";
import { waitedText } from "../wait/waitForServer";
import { awayOf, probe, waitForParts } from "./ask";
import { decide, type EngineEnd, type UpdateSeen } from "./decide";
import { goBack } from "./goBack";
import { keepFailed } from "./keepFailed";
import { keepRecord } from "./keepRecord";
import { type Begun, engineUp, isAsPlanned, type Task, tell, writeDown } from "./task";
import type { WayBack } from "./wayBack";
import { awayText, changedText, INTERRUPTED, leftText, staysText } from "./words";

/**
 * Applies the stack file, waits for what it starts, probes that, and decides whether it stays.
 * Returns the exit code.
 */
export async function forward(task: Task, back: WayBack, begun: Begun): Promise<number> {
  if (!isAsPlanned(task)) {
    // One that was broken off stays what it is, and is finished later.
    if (!begun.resumed) await keepRecord(task.keeper, defined({ failed: task.failed }));
    return ends(task, changedText(task.now.file));
  }
  await writeDown(task, "forward", begun);
  const engine = await engineUp(task);
  if (task.signal.aborted) return ends(task, INTERRUPTED);
  const { machines } = task.now.plan;
  const looked = await lookAt(task, engine, begun.parts, machines);
  if (typeof looked === "string") return ends(task, looked);
  const { waited, after } = looked;
  const touched = engine.touched || begun.resumed;
  const decision = decide({
    engine: { ...engine, touched },
    waited,
    after,
    passed: begun.passed,
    ...defined({ figures: begun.figures }),
  });
  if (decision.kind === "refused") {
    await keepRecord(task.keeper, defined({ failed: task.failed }));
    return decision.code;
  }
  if (decision.kind === "stays") return stays(task, after, decision.failed);
  for (const { result } of waited) if (result.outcome !== "ready") say(waitedText(result));
  if (back.to !== undefined) return goBack(task, back.to, begun, { why: decision.why, after });
  const { file, text } = task.now;
  const failure = { file, text, machines, parts: begun.parts, probes: after };
  const { folder, doctor } = await keepFailed(failure);
  await keepRecord(task.keeper, {});
  return ends(task, leftText({ ...decision.why, kept: folder }, doctor));
}

/** What was waited for and probed; or what is said where the update can't be finished now. */
async function lookAt(
  { signal, now }: Task,
  engine: EngineEnd,
  parts: Begun["parts"],
  machines: readonly MachinePlan[],
): Promise<Pick<UpdateSeen, "waited" | "after"> | string> {
  if (engine.code !== 0) {
    const away = await awayOf(machines);
    return away === undefined ? { waited: [], after: [] } : awayText(away);
  }
  try {
    const waited = await waitForParts(machines, parts, signal);
    if (signal.aborted) return INTERRUPTED;
    const isUp = waited.every(({ result }) => result.outcome === "ready");
    const after = isUp ? await probe(machines, parts, { stackFile: now.file }) : [];
    if (signal.aborted) return INTERRUPTED;
    // What a machine doesn't say while its Docker is away is no verdict.
    const away = isUp ? await awayOf(machines) : undefined;
    return away === undefined ? { waited, after } : awayText(away);
  } catch (error) {
    if (error instanceof Failed) return awayText(error.message);
    throw error;
  }
}

async function stays(
  task: Task,
  after: UpdateSeen["after"],
  complaints: UpdateSeen["after"],
): Promise<number> {
  const { keeper, settings, failed, now } = task;
  const isKept = complaints.length === 0 && after.some(({ status }) => status === "pass");
  if (isKept) keepPassed(now.file, now.text);
  // Other settings that were put back stay what they are.
  const isOther = failed !== undefined && failed.settings !== settings;
  await keepRecord(keeper, isOther ? { failed } : {});
  tell(task, staysText(after, complaints, isKept));
  return complaints.length === 0 ? 0 : 1;
}

function ends(task: Task, text: string): number {
  tell(task, text);
  return 1;
}
