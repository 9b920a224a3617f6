import { styleText } from "node:util";
import { kvFacts } from "../../components/memory/kvFacts";
import { hundredths, type Ledger } from "../../components/memory/ledger";
import type { ServerKv } from "../../components/memory/serverKv";
import type { MachinePlan } from "../../components/plan/types";
import { AGGREGATE_LIMIT, utilizationText } from "../../components/planned/utilization";
import { hanging, heading, table, type Width } from "./layout";
import { letterOf, memoryBar } from "./memoryBar";

/** A machine's memory, line by line, with what would fit. */
export function ledgerText({ ledger, admission }: MachinePlan, width: Width): string {
  const free = left(ledger);
  const line = (text: string) => `  ${hanging(text, 4, width)}`;
  return [
    heading("Memory"),
    `  ${memoryBar(ledger, width)}`,
    ...table(
      [
        ...ledger.lines.map(({ gib, basis, source }, index) => [
          `${letterOf(index)} ${lineName(ledger, index)}`,
          gibColumn(gib),
          `${basis}: ${source}`,
        ]),
        ["  sum", gibColumn(ledger.sumGiB), `of ${ledger.totalGiB.toFixed(2)} GiB`],
        free < 0
          ? ["  missing", gibColumn(-free), styleText("red", "does not fit")]
          : ["  left", gibColumn(free), ""],
      ],
      width,
    ),
    line(
      `aggregate utilization ${utilizationText(ledger.aggregateUtilization)}, limit ${utilizationText(AGGREGATE_LIMIT)}`,
    ),
    ...Object.entries(ledger.largestUtilization).map(([name, { bySum, byAggregate }]) =>
      line(
        `largest utilization that fits for ${name}: ${Math.min(bySum, byAggregate).toFixed(2)} (${bySum.toFixed(2)} by the sum, ${byAggregate.toFixed(2)} by the limit)`,
      ),
    ),
    ...admission.map(({ name, wantedGiB, availableGiB, admitted }) =>
      line(
        `${name} ${admitted ? "would start" : styleText("red", "would not start")}: ${wantedGiB.toFixed(2)} GiB wanted, ${availableGiB.toFixed(2)} GiB available by this meminfo`,
      ),
    ),
  ].join("\n");
}

function gibColumn(gib: number): string {
  return `${gib.toFixed(2).padStart(8)} GiB`;
}

/** A line that belongs to a server comes below it, without repeating its name. */
function lineName({ lines }: Ledger, index: number): string {
  const { name = "" } = lines[index] ?? {};
  const owner = lines.slice(0, index).findLast((each) => name.startsWith(`${each.name}: `));
  return owner === undefined ? name : `  ${name.slice(owner.name.length + 2)}`;
}

export function kvText(container: string, kv: ServerKv | null, width: Width): string[] {
  const facts = kv === null ? ["    not known, see the warnings"] : table(kvFacts(kv), width);
  return [heading(`KV cache of ${container}`), ...facts, ""];
}

/** Things that only bring a warning, but should still not be started. */
export function graveWarnings({ name, ledger, kv, admission }: MachinePlan): string[] {
  const beyond = -left(ledger);
  const refusals = [
    ...Object.entries(kv).flatMap(([container, plan]) => (plan?.atBest.fits === false ? [container] : [])),
    ...admission.filter(({ admitted }) => !admitted).map((each) => each.name),
  ];
  return [
    ...(beyond > 0 ? [`the memory of ${name} is ${beyond.toFixed(2)} GiB short, defaults included`] : []),
    ...[...new Set(refusals)].map((container) => `${container} would not start`),
  ];
}

/** What the machine has left, in GiB; negative where it lacks something. */
function left({ totalGiB, sumGiB }: Ledger): number {
  return hundredths(hundredths(totalGiB) - sumGiB);
}
