import type { Outcome } from "../../commandLine/command";
import { styled } from "../../commandLine/output";
import { saidOf } from "../drift/difference";
import type { MachineDrift } from "../drift/drift";
import { expectApplied } from "../stack/nothingApplied";
import { plannedStack } from "../stack/readStack";
import type { StackFileOptions } from "../stack/stackFile";

/** Compares each machine with the plan that was applied to it, and says what fixes the difference. */
export async function driftOutcome(options: StackFileOptions): Promise<Outcome> {
  const { driftOf, mending } = await import("../drift/drift");
  const { machines: planned } = plannedStack(options);
  await expectApplied(planned, options);
  const found = await Promise.all(planned.map((machine) => driftOf(machine)));
  const mend = mending(
    found.flatMap(({ drifts }) => drifts.map(({ mend }) => mend)),
    options,
  );
  const machines = found.map(({ drifts, ...rest }) => ({
    ...rest,
    drifts: drifts.map(({ mend, ...each }) => ({ ...each, mend: mending([mend], options) })),
  }));
  return {
    result: { machines, mend },
    text: [
      ...found.map(driftText),
      ...(mend.length === 0 ? [] : ["", "What fixes it:", ...mend.map((each) => `  ${each}`)]),
    ].join("\n"),
    failed: found.some(
      ({ missing, drifts, unread }) => missing !== undefined || drifts.length + unread.length > 0,
    ),
  };
}

/** A machine in one line, and a line for each thing that differs. */
function driftText(drift: MachineDrift): string {
  const { drifts, unread, ahead } = drift;
  return [
    `${styled("bold", drift.machine)}: ${driftLine(drift)}`,
    ...[...new Set(drifts.map(({ where }) => where))].flatMap((where) =>
      saidOf(drifts.filter((each) => each.where === where)).map((each) => `  ${where} ${each}`),
    ),
    ...unread.map((each) => `  not read: ${each}`),
    ...(ahead
      ? [
          "  The stack file has changes that aren't applied: `serving plan --against applied` shows them.",
        ]
      : []),
  ].join("\n");
}

export function driftLine({ missing, drifts, unread }: MachineDrift): string {
  if (missing !== undefined) return missing;
  if (drifts.length === 1) return "1 thing differs from what was applied";
  if (drifts.length > 1) return `${drifts.length} things differ from what was applied`;
  return unread.length > 0 ? "what could be read is as it was applied" : "as it was applied";
}
