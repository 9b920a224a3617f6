import type { Width } from "@local-serving/base/commandLine/layout";
import { styled } from "@local-serving/base/commandLine/output";
import { leftGiB } from "../../../components/memory";
import type { MachinePlan } from "../../../components/plan";
import { markOf, memoryBar } from "../memoryText";

/** A consumer of a machine's memory with all its lines of the ledger, and its mark in the bar. */
interface Consumer {
  readonly name: string;
  readonly gib: number;
  readonly mark: string;
}

/** Who takes a machine's memory. What a server takes beyond its share is its own. */
export function consumersOf({ ledger: { lines } }: Pick<MachinePlan, "ledger">): Consumer[] {
  const taken = new Map<string, number>();
  for (const { name, gib } of lines) {
    const owner = [...taken.keys()].findLast((each) => name.startsWith(`${each}: `)) ?? name;
    taken.set(owner, (taken.get(owner) ?? 0) + gib);
  }
  return [...taken].map(([name, gib], index) => ({ name, gib, mark: markOf(index) }));
}

/** The sum of a machine's memory and what is left, in a clause. */
export function sumText({ name, ledger }: Pick<MachinePlan, "name" | "ledger">): string {
  const free = leftGiB(ledger);
  const sum = `${ledger.sumGiB.toFixed(2)} of ${name}'s ${ledger.totalGiB.toFixed(2)} GiB`;
  return free < 0
    ? `${sum}, ${styled("red", `${(-free).toFixed(2)} TOO MUCH`)}`
    : `${sum}, ${free.toFixed(2)} left`;
}

/** Columns that a bar leaves for the indentation of its line. */
const INDENT = 2;

/** A machine's memory as a bar of this width. */
export const barText = (machine: MachinePlan, width: Width): string =>
  memoryBar({ totalGiB: machine.ledger.totalGiB, lines: consumersOf(machine) }, width + INDENT);

/** What else takes memory, beside those that have a row of their own. */
export const othersText = (machine: MachinePlan, withRows: readonly string[]): string =>
  consumersOf(machine)
    .filter(({ name }) => !withRows.includes(name))
    .map(({ mark, name, gib }) => `${mark} ${name} ${gib.toFixed(2)}`)
    .join(", ");
