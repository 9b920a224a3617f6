import {
  hanging,
  heading,
  table,
  titled,
  UNBOUNDED,
  type Width,
} from "@local-serving/base/commandLine/layout";
import { styled } from "@local-serving/base/commandLine/output";
import { AGGREGATE_LIMIT, utilizationText } from "@local-serving/vllm/utilization";
import {
  kvFacts,
  leftGiB,
  partsBeyondShares,
  type ServerKv,
  startVerdictOf,
} from "../../components/memory";
import type { MachinePlan } from "../../components/plan";

type Ledger = MachinePlan["ledger"];

/** A machine's memory, line by line, with what would fit. */
export function ledgerText({ ledger, admission, kv }: MachinePlan, width: Width): string {
  const free = leftGiB(ledger);
  const aggregate = `aggregate utilization ${utilizationText(ledger.aggregateUtilization)}, limit ${utilizationText(AGGREGATE_LIMIT)}`;
  const parts = partsBeyondShares(ledger.lines).map((part) => `\`${part}\``);
  const without = parts.length === 0 ? "" : `, without ${parts.join(" and ")}`;
  const largest = Object.entries(ledger.largestUtilization).map(
    ([name, { bySum, byAggregate, keepingFloor }]) => {
      const most = keepingFloor || Math.min(bySum, byAggregate);
      const kept = keepingFloor === 0 ? "none" : keepingFloor?.toFixed(2);
      const floor = kept === undefined ? "" : `, ${kept} with the memory floor`;
      return `largest utilization that fits for ${name}${without}: ${most.toFixed(2)} (${bySum.toFixed(2)} by the sum, ${byAggregate.toFixed(2)} by the limit${floor})`;
    },
  );
  const admissions = admission.map((each) => admissionText(each, kv[each.name]));
  return [
    heading("Memory"),
    `  ${memoryBar(ledger, width)}`,
    ...table(
      [
        ...ledger.lines.map(({ gib, basis, source }, index) => [
          `${markOf(index)} ${lineName(ledger, index)}`,
          gibColumn(gib),
          `${basis}: ${source}`,
        ]),
        ["  sum", gibColumn(ledger.sumGiB), `of ${ledger.totalGiB.toFixed(2)} GiB`],
        free < 0
          ? ["  missing", gibColumn(-free), styled("red", "does not fit")]
          : ["  left", gibColumn(free), ""],
      ],
      width,
    ),
    ...[aggregate, ...largest, ...admissions].map((text) => `  ${hanging(text, 4, width)}`),
  ].join("\n");
}

type Admission = MachinePlan["admission"][number];

const WOULD_START = {
  starts: "would start",
  "may start": "may start",
  "cannot start": "would not start",
} as const;

/**
 * Whether a server starts by the machine's free memory. That can only make its verdict worse: what
 * its KV plan doubts stays in doubt, whatever is free.
 */
function admissionText(
  { name, wantedGiB, availableGiB, admitted }: Admission,
  kv: ServerKv | null | undefined,
): string {
  const verdict = !admitted ? "cannot start" : kv == null ? "starts" : startVerdictOf(kv);
  const doubted = admitted && verdict !== "starts";
  const why = doubted && kv?.start !== undefined ? `, since ${kv.start.why}` : "";
  const would = WOULD_START[verdict];
  return `${name} ${verdict === "cannot start" ? styled("red", would) : would}${why}: ${wantedGiB.toFixed(2)} GiB wanted, ${availableGiB.toFixed(2)} GiB available by this meminfo`;
}

/** A server's KV plan with the verdict that the machine's free memory leaves, if that was given. */
export function kvOf(
  { kv, admission }: Pick<MachinePlan, "kv" | "admission">,
  container: string,
): ServerKv | null | undefined {
  const own = kv[container];
  const refused = admission.find(({ name, admitted }) => name === container && !admitted);
  if (own?.start === undefined || refused === undefined) return own;
  const why = `${refused.wantedGiB.toFixed(2)} GiB wanted, ${refused.availableGiB.toFixed(2)} GiB available by this meminfo`;
  return { ...own, start: { ...own.start, verdict: "cannot start", why } };
}

const gibColumn = (gib: number): string => `${gib.toFixed(2).padStart(8)} GiB`;

/** A line that belongs to a server comes below it, without repeating its name. */
function lineName({ lines }: Ledger, index: number): string {
  const { name = "" } = lines[index] ?? {};
  const owner = lines.slice(0, index).findLast((each) => name.startsWith(`${each.name}: `));
  return owner === undefined ? name : `  ${name.slice(owner.name.length + 2)}`;
}

/** Rows of a KV cache that a summary has. */
const SUMMARY = ["weights", "room", "outside it", "full windows", "agents at once", "cold prompt"];

export function kvText(
  container: string,
  kv: ServerKv | null,
  width: Width,
  full = true,
): string[] {
  const title = `KV cache of ${container}`;
  if (kv === null) return [heading(title), "    not known, see the warnings", ""];
  const rows = kvFacts(kv).filter(([label]) => full || SUMMARY.includes(label));
  return titled(title, rows, width);
}

/** Things that only bring a warning, but should still not be started. */
export function graveWarnings({ name, ledger, kv, admission }: MachinePlan): string[] {
  const beyond = -leftGiB(ledger);
  const refusals = [
    ...Object.entries(kv).flatMap(([container, plan]) =>
      plan !== null && startVerdictOf(plan) === "cannot start" ? [container] : [],
    ),
    ...admission.filter(({ admitted }) => !admitted).map((each) => each.name),
  ];
  return [
    ...(beyond > 0
      ? [`the memory of ${name} is ${beyond.toFixed(2)} GiB short, defaults included`]
      : []),
    ...[...new Set(refusals)].map((container) => `${container} would not start`),
  ];
}

/**
 * Most and fewest columns of the bar; with indentation and brackets the longest fits a terminal of
 * 80.
 */
const LONGEST = 60;
const SHORTEST = 10;

/** Columns for what exceeds the machine; more is cut with a `+`. */
const BEYOND = 16;

/** No capital letters: A and B are instances. */
const MARKS = "123456789abcdefghijklmnopqrstuvwxyz";

/** The mark of a ledger line in the bar. */
export const markOf = (index: number): string => MARKS[index % MARKS.length] ?? "?";

/** What a bar is drawn from. */
interface Bar {
  readonly totalGiB: number;
  readonly lines: readonly { readonly gib: number }[];
}

/**
 * The machine's memory as one bar: a mark for each line of the ledger, dots for what is free.
 * Cells are given out by running totals, so the bar adds up to the sum and not to rounded parts.
 * What exceeds the machine comes after `|`.
 */
export function memoryBar(ledger: Bar, width: Width = UNBOUNDED): string {
  const sum = ledger.lines.reduce((all, { gib }) => all + gib, 0);
  const room = width - 4 - (sum > ledger.totalGiB ? BEYOND : 0);
  const length = Math.max(SHORTEST, Math.min(LONGEST, room));
  const perCell = ledger.totalGiB / length;
  let used = 0;
  let bar = "";
  for (const [index, line] of ledger.lines.entries()) {
    used += line.gib;
    const cells = Math.min(Math.round(used / perCell), length + BEYOND + 1);
    bar += markOf(index).repeat(Math.max(0, cells - bar.length));
  }
  if (bar.length <= length) return `[${bar.padEnd(length, ".")}]`;
  const beyond = bar.slice(length);
  return `[${bar.slice(0, length)}|${beyond.length <= BEYOND ? beyond : `${beyond.slice(0, BEYOND - 1)}+`}`;
}
