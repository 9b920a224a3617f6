import { join } from "node:path";
import { Failed } from "@local-serving/base/commandLine/exit";
import { terminalWidth } from "@local-serving/base/commandLine/layout";
import { printResult, say } from "@local-serving/base/commandLine/output";
import { saysYes } from "@local-serving/base/commandLine/saysYes";
import { defined } from "@local-serving/base/faults/defined";
import { thisProcess } from "@local-serving/machines/update/process";
import type { UnderWay } from "@local-serving/machines/update/record";
import { changesOf, neverStartedText } from "../../components/change";
import { readAppliedPlans } from "../../components/evidence";
import { LEVELS_FILE, readLevels } from "../../policies/levels";
import { settleEngine } from "../engine/brokenOff";
import { policyLevels, SAYS_YES } from "../engine/drive";
import { missingOf, needsText } from "../fetch/needs";
import { compare } from "../plan/against";
import { sectionText } from "../plan/changeReport";
import { policiesOn } from "../plan/judgedPlan";
import type { PlannedStack } from "../stack/readStack";
import { projectFolder, projectOrProgram } from "../stack/stackFile";
import { forStack } from "../stack/typed";
import { probe } from "./ask";
import { bring, lackingOn } from "./bring";
import { forward } from "./forward";
import { finishBack } from "./goBack";
import { keepRecord } from "./keepRecord";
import { mayAsk } from "./mayAsk";
import { figuresToKeep, merged, partsOf } from "./parts";
import { type Begun, type Task, tell, writeDown } from "./task";
import { type Applied, readVerified, type WayBack, wayBack } from "./wayBack";
import { INTERRUPTED, nothingToPutBackText } from "./words";

/** What was applied before, as far as each machine has it. What can't be read is said. */
export async function readApplied({ plan }: PlannedStack): Promise<Applied> {
  const read = await readAppliedPlans(plan.machines);
  for (const each of read) if ("missing" in each && each.isThere) say(each.missing);
  return {
    machines: read.flatMap((each) => ("plan" in each ? [each.plan] : [])),
    isThere: read.some((each) => "plan" in each || each.isThere),
  };
}

const wayBackOf = ({ now, options, settings }: Task, { isThere }: Applied): WayBack =>
  wayBack(readVerified(now.file, policyLevels(projectFolder(), options)), settings, isThere);

/** The whole of `serving up --verified`, from its beginning. */
export async function verifiedUp(task: Task, earlier?: UnderWay): Promise<number> {
  const { now, signal } = task;
  const applied = await readApplied(now);
  const back = wayBackOf(task, applied);
  if (back.to === undefined && back.refuses && earlier === undefined)
    throw new Failed(forStack(back.why, { stack: task.stack }));
  say(back.to === undefined ? back.why : `If it fails, ${back.to.file} is put back.`);
  if (!(await everythingIsHere(task))) return 1;
  await sayPlan(task, applied);
  if (!(await agreed(task, back))) return 1;
  const changes = changesOf(applied.machines, now.plan.machines);
  const changed = partsOf(
    changes,
    [...applied.machines, ...now.plan.machines],
    now.settings.machines,
  );
  const parts = merged(changed, earlier?.parts ?? []);
  const startedAt = new Date().toISOString();
  const begun: Begun = { startedAt, passed: earlier?.passed ?? [], parts, resumed: !!earlier };
  if (earlier !== undefined) return forward(task, back, begun);
  await writeDown(task, "before", begun);
  const before = await probe(applied.machines, parts, { stackFile: now.file });
  if (signal.aborted) {
    tell(task, INTERRUPTED);
    return 1;
  }
  const passed = before.filter(({ status }) => status === "pass").map(({ id }) => id);
  const figures = figuresToKeep(before, applied.machines, now.plan.machines);
  const code = await forward(task, back, { ...begun, passed, figures });
  const never = code === 0 ? changes.flatMap((each) => neverStartedText(each) ?? []) : [];
  for (const text of never) tell(task, text);
  return code;
}

/** Loads what is missing while everything runs; `false` where something doesn't come. */
async function everythingIsHere({ now, signal }: Task): Promise<boolean> {
  const lacking = await lackingOn(now);
  for (const { needs } of lacking)
    if (missingOf(needs).length > 0) say(needsText(needs).join("\n"));
  return bring(lacking, signal);
}

/** Says what changes, and what is gone for how long. Throws `Failed` where a policy refuses it. */
async function sayPlan({ now, options }: Task, applied: Applied): Promise<void> {
  const levels = policyLevels(projectFolder(), options);
  const refused = policiesOn(now, levels).filter(({ verdict }) => verdict === "refused");
  if (refused.length > 0)
    throw new Failed(
      [
        "Refused, and nothing was changed:",
        ...refused.map(({ name, message }) => `- ${name}: ${message}`),
      ].join("\n"),
    );
  if (applied.machines.length === 0) return;
  const asked = { file: now.file, settings: now.settings, planned: now.plan };
  const read = readLevels(levels ?? join(projectOrProgram(), LEVELS_FILE));
  const { sections } = await compare("applied", asked, read);
  const width = terminalWidth(process.stdout);
  printResult("text", undefined, sections.map((each) => sectionText(each, width)).join("\n\n"));
}

/** Whether somebody said yes. */
async function agreed({ options, signal }: Task, back: WayBack): Promise<boolean> {
  if (options.some((option) => SAYS_YES.test(option))) return true;
  mayAsk(options);
  const behind = back.to === undefined ? "" : ", and go back if it fails";
  const yes = await saysYes(`Apply this${behind}?`, signal);
  if (!yes) say("Nothing was changed.");
  return yes;
}

/**
 * Takes over an update that was broken off: no third process may, while the engine of the first
 * one is waited for.
 */
async function takeOver({ stack, keeper, failed, now, signal }: Task, underWay: UnderWay) {
  const taken = { ...underWay, by: thisProcess() };
  await keepRecord(keeper, { ...defined({ failed }), underWay: taken });
  const hosts = now.plan.machines.map(({ dockerHost }) => dockerHost);
  await settleEngine(stack, hosts, signal);
}

/** Goes on with an update that was broken off while the stack file was being applied. */
export async function forwardAgain(task: Task, underWay: UnderWay, same: boolean): Promise<number> {
  await takeOver(task, underWay);
  if (task.signal.aborted) return 1;
  if (!same) return verifiedUp(task, underWay);
  const applied = await readApplied(task.now);
  return forward(task, wayBackOf(task, applied), { ...underWay, resumed: true });
}

/** Finishes putting back the verified stack file. */
export async function backAgain(task: Task, underWay: UnderWay): Promise<number> {
  await takeOver(task, underWay);
  if (task.signal.aborted) return 1;
  const { settings, decided } = underWay;
  const verified = readVerified(task.now.file, policyLevels(projectFolder(), task.options));
  if (verified.kind === "planned" && decided !== undefined)
    return finishBack({
      task: { ...task, settings },
      to: verified.stack,
      begun: underWay,
      decided,
    });
  await keepRecord(task.keeper, {});
  const why =
    verified.kind === "unplanned"
      ? `this program can't apply ${verified.file}.`
      : "there is no stack file that passed `serving verify`.";
  tell(task, nothingToPutBackText(underWay, why));
  return 1;
}
