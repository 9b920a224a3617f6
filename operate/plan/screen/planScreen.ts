import { hanging, UNBOUNDED, type Width } from "../../../commandLine/layout";
import { styled } from "../../../commandLine/output";
import type { MachinePlan, Plan } from "../../../components/plan";
import type { Judged } from "../../../policies/judge";
import { FINE, verdictOf } from "../verdict";
import { countsText, findingsOf, refusalLines, warningLines } from "./findings";
import { memoryRow } from "./memory";
import { rowLines, textColumn } from "./rows";
import { serverRows, withRows } from "./servers";
import { type Applied, type Downloads, updateRows } from "./update";
import { useRow } from "./use";

/** What is known beside a plan and its verdicts, all of it optional. */
export interface PlanView {
  /** Columns of the terminal. */
  readonly width?: Width;
  /** Commands in advice as they are typed for this stack. */
  readonly typed?: (text: string) => string;
  /** What was applied before; absent where nobody looked, as of another computer. */
  readonly applied?: Applied;
  /** What each machine lacks of its plan, by the machines' names. */
  readonly downloads?: Readonly<Record<string, Downloads>>;
  /** The last line: what to run next. */
  readonly next?: string;
}

/**
 * A plan on one screen: what refuses it, whether it would be applied, each server, the memory, what
 * an update does, what to type then, warnings, what to run next. Pure.
 */
export function planScreen(
  { machines, warnings }: Plan,
  policies: readonly Judged[],
  { width = UNBOUNDED, typed = (text) => text, ...known }: PlanView = {},
): string {
  const found = findingsOf({ warnings }, policies, typed);
  const verdict = verdictOf(machines, policies);
  const said = verdict === FINE ? verdict : styled("red", verdict);
  return [
    hanging(`${said} ${countsText(found, " (--notes)")}`, 2, width),
    ...refusalLines(found.refused, width),
    ...machines.flatMap((machine) => machineLines(machine, { ...known, width, machines })),
    ...warningLines(found, machines, width),
    ...(known.next === undefined ? [] : [hanging(typed(known.next), 2, width)]),
  ].join("\n");
}

interface Shown extends Pick<PlanView, "applied" | "downloads"> {
  readonly width: Width;
  readonly machines: readonly MachinePlan[];
}

function machineLines(
  machine: MachinePlan,
  { width, machines, applied, downloads }: Shown,
): string[] {
  const title = machines.length > 1 ? [styled("bold", `Machine ${machine.name}`)] : [];
  const here = downloads?.[machine.name];
  const rows = [
    ...serverRows(machine),
    { label: "memory", texts: [] },
    ...updateRows(machine, {
      ...(applied === undefined ? {} : { applied }),
      ...(here === undefined ? {} : { downloads: here }),
    }),
    ...useRow(machine),
  ];
  const column = textColumn(rows);
  const memory = memoryRow(machine, withRows(machine), width - column + 2);
  const all = rows.map((row) => (row.label === memory.label ? memory : row));
  return [...title, ...rowLines(all, column, width)];
}
