import { Failed } from "@local-serving/base/faults/fault";
import { fingerprintOfText } from "@local-serving/machines/update/fingerprint";
import { lives } from "@local-serving/machines/update/process";
import { readRecord } from "@local-serving/machines/update/readRecord";
import { busyText } from "@local-serving/machines/update/sentences";
import { changesOf, isUnchanged } from "../../../components/change";
import { readAppliedPlans } from "../../../components/evidence";
import type { MachinePlan } from "../../../components/plan";
import { preflight } from "../../../components/preflight";
import type { Locate } from "../../../components/settings";
import type { Stack, UpdateFacts } from "../../rules/picture";

/** What is asked of a stack before its machine is read. */
interface Asked extends Pick<Stack, "machines" | "text"> {
  readonly locate: Locate;
}

/** Reads what `up` reads before its first change, on each machine of the stack. */
export async function readUpdate(
  { machines, text, locate }: Asked,
  isNew: boolean,
): Promise<UpdateFacts> {
  const updating = { locate, isNew, fingerprint: fingerprintOfText(text) ?? "" };
  const refusing = preflight({ machines }, updating).then((findings) =>
    findings.flatMap(({ name, verdict, message }) =>
      verdict === "refused" ? [`${name}: ${message}`] : [],
    ),
  );
  const [refused, busy, isApplied] = await Promise.all([
    // What keeps the preflight from its end keeps `up` from going on.
    refusing.catch(failure),
    busyWith(machines),
    isAsApplied(machines),
  ]);
  return { refused: [...busy, ...refused], isApplied };
}

function failure(error: unknown): string[] {
  if (error instanceof Failed) return [error.message];
  throw error;
}

/** Says whose update is under way: `serving up` waits for its end. */
async function busyWith([keeper]: readonly MachinePlan[]): Promise<string[]> {
  const { underWay } = keeper === undefined ? {} : await readRecord(keeper);
  return underWay === undefined || lives(underWay.by) === false ? [] : [busyText(underWay)];
}

/** Whether `up` would change nothing that it knows of. */
async function isAsApplied(machines: readonly MachinePlan[]): Promise<boolean> {
  const read = await readAppliedPlans(machines);
  const applied = read.flatMap((each) => ("plan" in each ? [each.plan] : []));
  return applied.length === machines.length && changesOf(applied, machines).every(isUnchanged);
}
