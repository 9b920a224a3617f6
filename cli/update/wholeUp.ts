import { terminalWidth } from "@local-serving/base/commandLine/layout";
import { printResult, say } from "@local-serving/base/commandLine/output";
import { saysYes } from "@local-serving/base/commandLine/saysYes";
import { defined } from "@local-serving/base/faults/defined";
import { fingerprintOfText } from "@local-serving/machines/update/fingerprint";
import { engineFor } from "../engine/drive";
import { missingOf } from "../fetch/needs";
import { planScreen } from "../plan/screen/planScreen";
import type { MachineView } from "../plan/screen/update";
import { appliedViews } from "../plan/screenViews";
import { type PlannedStack, readStack } from "../stack/readStack";
import { forStack } from "../stack/typed";
import { afterwards } from "./afterwards";
import { bring, lackingOnThoseThere } from "./bring";
import { isMore } from "./isMore";
import { judgedOf, type Looked, lookFirst, PREFLIGHT, refuses } from "./lookFirst";
import { readInside } from "./readInside";
import { previewEngine, runEngine } from "./runEngine";
import { isAsPlanned, type Task, tell } from "./task";
import type { WholeWay } from "./way";
import { editedText, NOTHING_BUT_RECORD, NOTHING_TO_CHANGE, stepsText, UNREAD } from "./words";

/**
 * The whole way of an update: what would be done on one screen, a yes, images and models, the
 * engine, the start, the probes. Returns the exit code.
 */
export async function wholeUp(task: Task, way: WholeWay): Promise<number> {
  const looked = await lookFirst(task, way.fetch);
  const isRefused = looked.judged.some(refuses);
  const hasWork = !looked.isApplied || looked.unread.length > 0;
  if (hasWork || isRefused) show(task, task.now, { looked, way });
  if (isRefused) return 1;
  if (!hasWork) return asApplied(task, way, looked);
  if (way.asks && !(await agreed(task.signal))) return 1;
  // The engine may have to be installed: better now than after an hour of downloads.
  await engineFor(task.stack);
  const now = way.fetch ? await brought(task, looked, way) : task.now;
  if (now === undefined || task.signal.aborted) return 1;
  const then = { ...task, now, settings: fingerprintOfText(now.text) ?? "" };
  if (isAsPlanned(then)) return applied(then, way, looked);
  tell(task, editedText(now.file));
  return 1;
}

/** Applies a stack file that says nothing new. Only the engine's preview shows what is to be done. */
async function asApplied(task: Task, way: WholeWay, looked: Looked): Promise<number> {
  const { code, changes } = await previewEngine(task);
  if (code !== 0 || task.signal.aborted) return code;
  if (!changes) {
    say(NOTHING_TO_CHANGE);
    return 0;
  }
  if (way.asks && !(await agreed(task.signal))) return 1;
  return applied(task, way, looked);
}

async function applied(task: Task, way: WholeWay, looked: Looked): Promise<number> {
  const { code, made } = await runEngine(task);
  if (code !== 0 || task.signal.aborted) return code;
  return afterwards(task, way, { made, looked });
}

interface Showing {
  readonly looked: Looked;
  readonly way: WholeWay;
}

/** Prints the plan on one screen, with what the yes is about. */
function show({ stack }: Task, now: PlannedStack, { looked, way }: Showing): void {
  const { lacking, unread, judged } = looked;
  const downloads = lacking.some(({ needs }) => missingOf(needs).length > 0);
  const typed = (text: string) => forStack(text, { stack });
  const next = typed(stepsText(way, { downloads, unread }, now.file));
  const screen = planScreen(now.plan, judged, {
    width: terminalWidth(process.stdout),
    typed,
    machines: viewsOfMachines(now, looked),
    notesBy: typed("`serving plan --notes`"),
    asks: true,
    ...(judged.some(refuses) ? {} : { next }),
  });
  printResult("text", undefined, screen);
}

/** What is known of each machine: what was applied, and what it lacks. */
function viewsOfMachines(
  { plan: { machines } }: PlannedStack,
  { applied, lacking }: Looked,
): Record<string, MachineView> {
  const known = appliedViews(applied.machines, machines);
  const isUnread = applied.isThere && applied.machines.length === 0;
  return Object.fromEntries(
    machines.map(({ name }) => {
      const before = isUnread ? { unread: UNREAD } : known[name];
      const needs = lacking.find(({ machine }) => machine.name === name)?.needs;
      const downloads = needs && { ...needs, looked: true };
      return [name, defined({ applied: before, downloads })];
    }),
  );
}

async function agreed(signal: AbortSignal): Promise<boolean> {
  const yes = await saysYes("Go on?", signal);
  if (!yes) say("Nothing was changed.");
  return yes;
}

/**
 * Loads images, looks into those that nobody looked into, then loads the models. Returns the stack
 * as its file has it then; `undefined` where something doesn't come, or is refused now.
 */
async function brought(
  task: Task,
  looked: Looked,
  way: WholeWay,
): Promise<PlannedStack | undefined> {
  const { signal } = task;
  const { lacking, unread } = looked;
  if (unread.length === 0) return (await bring(lacking, signal)) ? task.now : undefined;
  const images = lacking.map(({ machine, needs: { program: _, ...needs } }) => ({
    machine,
    needs: { ...needs, models: [] },
  }));
  if (!(await bring(images, signal))) return undefined;
  if (!(await readInside(task.now, unread, signal))) return undefined;
  const now = readStack(task.now.file);
  if (!(await staysAgreed(task, now, { looked, way }))) return undefined;
  return (await bring(await lackingOnThoseThere(now), signal)) ? now : undefined;
}

/** Whether what was agreed to still holds, now that images were looked into. */
async function staysAgreed(task: Task, now: PlannedStack, { looked, way }: Showing) {
  const onMachines = looked.judged.filter(({ name }) => name.startsWith(PREFLIGHT));
  const judged = [...judgedOf(task, now), ...onMachines];
  const isRefused = judged.some(refuses);
  if (!isRefused && !isMore({ before: task.now, now, was: looked.judged, is: judged })) return true;
  show(task, now, { looked: { ...looked, judged, unread: [], lacking: [] }, way });
  if (isRefused) say(NOTHING_BUT_RECORD);
  return !isRefused && (!way.asks || (await agreed(task.signal)));
}
