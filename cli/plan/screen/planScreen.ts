import { hanging, UNBOUNDED, type Width } from "@local-serving/base/commandLine/layout";
import { styled } from "@local-serving/base/commandLine/output";
import { listOf } from "@local-serving/base/faults/quoting";
import type { MachinePlan, Plan } from "../../../components/plan";
import type { Judged } from "../../../policies/judge";
import { downloadsDoubt } from "../../fetch/downloads";
import { FINE, refusalOrDoubt } from "../verdict";
import { countsText, findingsOf, refusalLines, warningLines } from "./findings";
import { harnessRow } from "./harness";
import { barText, othersText, sumText } from "./memory";
import { type Row, rowLines, textColumn } from "./rows";
import { doubtfulServers, serverRows, withRows } from "./servers";
import { type MachineView, needsRow, updateRows } from "./update";
import { useRow } from "./use";

/** What is known beside a plan and its verdicts, all of it optional. */
export interface PlanView {
  /** Columns of the terminal. */
  readonly width?: Width;
  /** Commands in advice as they are typed for this stack. */
  readonly typed?: (text: string) => string;
  /** What is known of each machine, by its name. */
  readonly machines?: Readonly<Record<string, MachineView>>;
  /** What shows the notes; the option of `plan` if it is absent. */
  readonly notesBy?: string;
  /** Whether the first sentence of each warning is whole: somebody is asked below. */
  readonly asks?: boolean;
  /** The last line: what to run next. */
  readonly next?: string;
}

/**
 * A plan on one screen: whether it would be applied, what refuses it, each server, the memory, what
 * an update does, what to type then, warnings, what to run next. Pure.
 */
export function planScreen(
  { machines, warnings }: Plan,
  policies: readonly Judged[],
  { width = UNBOUNDED, typed = (text) => text, machines: known = {}, ...view }: PlanView = {},
): string {
  const { next, notesBy = "--notes", asks = false } = view;
  const crowded = machines.flatMap(({ name }) => diskWarnings(name, known[name]?.downloads));
  const found = findingsOf({ machines, warnings: [...warnings, ...crowded] }, policies, typed);
  const isOne = machines.length === 1;
  return [
    hanging(`${headText(machines, policies)} ${countsText(found, ` (${notesBy})`)}`, 2, width),
    ...refusalLines(found.refused, width),
    ...machines.flatMap((machine) =>
      isOne
        ? oneMachine(machine, known[machine.name] ?? {}, { width, typed })
        : oneOfSeveral(machine, known[machine.name] ?? {}, { width, typed }),
    ),
    ...warningLines(found, machines, { width, asks }),
    ...(next === undefined ? [] : [hanging(next, 2, width)]),
  ].join("\n");
}

/** That what is to come may not fit on a disk of a machine. */
function diskWarnings(machine: string, downloads: MachineView["downloads"]): Plan["warnings"] {
  const message = downloads && downloadsDoubt(downloads);
  return message === undefined ? [] : [{ machine, code: "disk-full", message }];
}

/** The verdict, and which servers may not start, or nobody could judge. */
function headText(machines: readonly MachinePlan[], policies: readonly Judged[]): string {
  const grave = refusalOrDoubt(machines, policies);
  const { mayNotStart, notJudged } = doubtfulServers(machines);
  return [
    grave === undefined ? FINE : styled("red", grave),
    ...(mayNotStart.length === 0
      ? []
      : [styled("yellow", `But ${listOf(mayNotStart)} may not start.`)]),
    ...(notJudged.length === 0 ? [] : [`Whether ${listOf(notJudged)} can start is not judged.`]),
  ].join(" ");
}

/** Most lines of a machine's rows, beside those of its servers. */
const ALONE = { memory: 4, update: 3, needs: 4, use: 4, harness: 2 };
const AMONG_SEVERAL = { memory: 1, update: 2, needs: 4, use: 2, harness: 1 };

const MEMORY = "memory";

/** Columns of a machine's bar beside others. */
const SHORT_BAR = 32;

/** How a machine is shown. */
type Shown = Required<Pick<PlanView, "width" | "typed">>;

/** What stands below a machine's memory. */
const rowsBelow = (machine: MachinePlan, view: MachineView, most: typeof ALONE): Row[] => [
  ...updateRows(machine, view, most.update),
  ...needsRow(view, most.needs),
  ...useRow(machine, most.use),
  ...harnessRow(machine, view, most.harness),
];

function oneMachine(machine: MachinePlan, view: MachineView, { width, typed }: Shown): string[] {
  const servers = serverRows(machine, typed);
  const below = rowsBelow(machine, view, ALONE);
  const column = textColumn([...servers, { label: MEMORY }, ...below]);
  const others = othersText(machine, withRows(machine));
  const sum = `${sumText(machine)}${others === "" ? "" : `: ${others}`}`;
  const bar = barText(machine, width - column);
  const memory = { label: MEMORY, texts: [bar, sum], most: ALONE.memory };
  return rowLines([...servers, memory, ...below], column, width);
}

/** Beside others a machine has its sum behind its name, and one line of memory. */
function oneOfSeveral(machine: MachinePlan, view: MachineView, { width, typed }: Shown): string[] {
  const servers = serverRows(machine, typed);
  const below = rowsBelow(machine, view, AMONG_SEVERAL);
  const column = textColumn([...servers, { label: MEMORY }, ...below]);
  const others = othersText(machine, withRows(machine));
  const bar = barText(machine, SHORT_BAR);
  const memory = { label: MEMORY, texts: [`${bar} ${others}`], most: AMONG_SEVERAL.memory };
  return [
    styled("bold", sumText(machine)),
    ...rowLines([...servers, memory, ...below], column, width),
  ];
}
