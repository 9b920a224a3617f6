import type { Outcome } from "@local-serving/base/commandLine/command";
import { headed } from "@local-serving/base/commandLine/layout";
import { styled } from "@local-serving/base/commandLine/output";
import { defined } from "@local-serving/base/faults/defined";
import type { MachinePlan, Plan } from "../../components/plan";
import { saidOf } from "../drift/difference";
import { type Drift, driftOf, type MachineDrift, mending } from "../drift/drift";
import { lastVerified } from "../plan/earlier";
import { tunnelTo } from "../sees/tunnel";
import { expectApplied } from "../stack/nothingApplied";
import { plannedStack } from "../stack/readStack";
import { type StackFileOptions, stackFile } from "../stack/stackFile";

interface DriftOptions extends StackFileOptions {
  readonly against?: "applied" | "verified";
}

/**
 * Compares each machine with the plan that was applied to it, or with that of the stack file that
 * was last verified, and says what fixes the difference.
 */
export async function driftOutcome(options: DriftOptions): Promise<Outcome> {
  const { against = "applied" } = options;
  const plan = plannedStack(options);
  await expectApplied(plan.machines, options);
  const verified = against === "verified" ? await verifiedOf(stackFile(options), plan) : undefined;
  const found = await Promise.all(
    plan.machines.map((machine) => driftOf(machine, tunnelTo, verified?.machineOf(machine))),
  );
  const mend = (drifts: readonly Drift[]): string[] =>
    verified === undefined || drifts.length === 0
      ? mending(
          drifts.map((each) => each.mend),
          options,
        )
      : [verified.back];
  const machines = found.map(({ drifts, ...rest }) => ({
    ...rest,
    drifts: drifts.map((each) => ({ ...each, mend: mend([each]) })),
  }));
  const fixes = mend(found.flatMap(({ drifts }) => drifts));
  return {
    result: { machines, mend: fixes },
    text: [
      ...found.map((each) => driftText(each, against)),
      ...(fixes.length === 0 ? [] : ["", headed("What fixes it:", fixes)]),
    ].join("\n"),
    failed: found.some(
      ({ missing, drifts, unread }) => missing !== undefined || drifts.length + unread.length > 0,
    ),
  };
}

/** The plan of the stack file that was last verified, and the command that takes it. */
async function verifiedOf(file: string, plan: Plan) {
  const { machines, back } = await lastVerified(file, plan);
  const machineOf = ({ name }: MachinePlan): MachinePlan | undefined => {
    const found = machines.find((each) => each.name === name);
    // What is kept on the machine is the applied plan.
    const files = found?.files.filter(({ role }) => role !== "applied-plan");
    return found && { ...found, ...defined({ files }) };
  };
  return { machineOf, back };
}

/** A machine in one line, and a line for each thing that differs. */
function driftText(drift: MachineDrift, against: string): string {
  const { drifts, unread, ahead } = drift;
  return headed(`${styled("bold", drift.machine)}: ${driftLine(drift, against)}`, [
    ...[...new Set(drifts.map(({ where }) => where))].flatMap((where) =>
      saidOf(drifts.filter((each) => each.where === where)).map((each) => `${where} ${each}`),
    ),
    ...unread.map((each) => `not read: ${each}`),
    ...(ahead
      ? [
          `The stack file has changes that aren't ${against}: \`serving plan --against ${against}\` shows them.`,
        ]
      : []),
  ]);
}

export function driftLine({ missing, drifts, unread }: MachineDrift, against = "applied"): string {
  if (missing !== undefined) return missing;
  if (drifts.length === 1) return `1 thing differs from what was ${against}`;
  if (drifts.length > 1) return `${drifts.length} things differ from what was ${against}`;
  return unread.length > 0 ? `what could be read is as it was ${against}` : `as it was ${against}`;
}
