import { WrongUse } from "@local-serving/base/commandLine/exit";
import { endingInOrder } from "@local-serving/base/commandLine/interrupt";
import { say } from "@local-serving/base/commandLine/output";
import { canAsk } from "@local-serving/base/commandLine/saysYes";
import { defined } from "@local-serving/base/faults/defined";
import { orInputFault } from "@local-serving/base/faults/fault";
import { fingerprintOfText } from "@local-serving/machines/update/fingerprint";
import { lives } from "@local-serving/machines/update/process";
import { readRecord } from "@local-serving/machines/update/readRecord";
import type { MachinePlan } from "../../components/plan";
import { drive } from "../engine/drive";
import { madeIn } from "../engine/eventLog";
import { readStack } from "../stack/readStack";
import { stackFile } from "../stack/stackFile";
import { forStack } from "../stack/typed";
import { sayNext } from "./afterUp";
import { type AskedUpdate, type Beginning, beginning } from "./beginning";
import { keepRecord } from "./keepRecord";
import { mayAsk } from "./mayAsk";
import { againFor } from "./runEngine";
import type { Task } from "./task";
import { backAgain, forwardAgain, verifiedUp } from "./verifiedUp";
import { appliesOtherwise, type PartOptions, wayOf } from "./way";
import { wholeUp } from "./wholeUp";

/** What somebody asked of `serving up`. */
export interface UpOptions {
  readonly verified: boolean;
  readonly again: boolean;
  readonly parts: PartOptions;
}

/**
 * `serving up`: finishes an update that was broken off, refuses settings that were put back, and
 * applies the stack file: by the engine alone, with all that a person does around it, or with the
 * verified stack file behind it.
 */
export async function up(
  stack: string,
  options: readonly string[],
  { verified, again, parts }: UpOptions,
): Promise<number> {
  if (verified) refuseOptions(options, parts);
  const way = wayOf({ parts, options, atTerminal: canAsk({ format: "text" }) });
  if (!verified && way.kind === "refused") throw new WrongUse(way.says);
  const env = againFor(again);
  const plain = (machines: readonly MachinePlan[] = []) =>
    drive("up", stack, options, { env, applied: (log) => sayNext(machines, madeIn(log), stack) });
  const file = stackFile({ stack });
  const now = orInputFault(() => readStack(file));
  // A stack file with faults is the program's to tell, unless it is looked at first.
  if (now instanceof Error) {
    if (verified || way.kind === "whole") throw now;
    return plain();
  }
  const [keeper] = now.plan.machines;
  if (keeper === undefined) return plain();
  const settings = fingerprintOfText(now.text) ?? "";
  const update = { stack, options, now, settings, keeper, again };
  const ends = await upByRecord(update, { settings, verified, again });
  if (ends !== undefined) return ends;
  return way.kind === "whole"
    ? endingInOrder((signal) => wholeUp({ ...update, signal }, way))
    : plain(now.plan.machines);
}

/** Updates as the record says. Returns the exit code; `undefined` where the engine alone is asked. */
async function upByRecord(
  update: Omit<Task, "failed" | "signal">,
  asked: AskedUpdate,
): Promise<number | undefined> {
  const { keeper, settings, stack } = update;
  for (;;) {
    const { begins, failed } = await begin(keeper, asked, stack);
    if (begins.kind === "refused") return 1;
    if (begins.kind === "plain") return undefined;
    if (begins.kind === "untouched") {
      await keepRecord(keeper, defined({ failed }));
      continue;
    }
    const code = await endingInOrder((signal) => carryOut(begins, { ...update, failed, signal }));
    // What was put back is not what the stack file has now: that is looked at anew.
    if (begins.kind !== "back" || (await readRecord(keeper)).underWay !== undefined) return code;
    if (begins.underWay.settings === settings) return code;
  }
}

/** Decides by the record what an update begins with, and says it. */
async function begin(keeper: MachinePlan, asked: AskedUpdate, stack: string) {
  const record = await readRecord(keeper);
  if (record.unreadable !== undefined) say(record.unreadable);
  const running = record.underWay !== undefined && lives(record.underWay.by);
  const begins = beginning(record, asked, running);
  if ("says" in begins) say(forStack(begins.says, { stack }));
  return { begins, failed: record.failed };
}

/** Updates with the verified stack file behind it, or finishes an update that was broken off. */
function carryOut(
  begins: Extract<Beginning, { readonly kind: "verified" | "back" | "forward" }>,
  task: Task,
): Promise<number> {
  if (begins.kind === "verified") return verifiedUp(task);
  return begins.kind === "back"
    ? backAgain(task, begins.underWay)
    : forwardAgain(task, begins.underWay, begins.same);
}

function refuseOptions(options: readonly string[], parts: PartOptions): void {
  const part = Object.entries(parts).find(([, isAsked]) => isAsked !== undefined);
  if (part !== undefined)
    throw new WrongUse(
      `--${part[1] ? "" : "no-"}${part[0]}: not possible with --verified, which fetches, waits and verifies.`,
    );
  const other = appliesOtherwise(options);
  if (other !== undefined)
    throw new WrongUse(
      `${other}: not possible with --verified, which applies the stack's own file as a whole.`,
    );
  mayAsk(options);
}
