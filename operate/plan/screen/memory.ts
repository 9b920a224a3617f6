import type { Width } from "../../../commandLine/layout";
import { styled } from "../../../commandLine/output";
import { leftGiB } from "../../../components/memory";
import type { MachinePlan } from "../../../components/plan";
import { markOf, memoryBar } from "../memoryText";
import type { Row } from "./rows";

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
function sumText({ name, ledger }: MachinePlan): string {
  const free = leftGiB(ledger);
  const sum = `${ledger.sumGiB.toFixed(2)} of ${name}'s ${ledger.totalGiB.toFixed(2)} GiB`;
  return free < 0
    ? `${sum}: ${styled("red", `${(-free).toFixed(2)} TOO MUCH`)}`
    : `${sum}, ${free.toFixed(2)} left`;
}

/** The memory of a machine: a bar, the sum, and those consumers that have no row of their own. */
export function memoryRow(machine: MachinePlan, told: readonly string[], width: Width): Row {
  const consumers = consumersOf(machine);
  const others = consumers
    .filter(({ name }) => !told.includes(name))
    .map(({ mark, name, gib }) => `${mark} ${name} ${gib.toFixed(2)}`);
  const { totalGiB } = machine.ledger;
  const beside = others.length === 0 ? "" : `: ${others.join(", ")}`;
  return {
    label: "memory",
    texts: [memoryBar({ totalGiB, lines: consumers }, width), `${sumText(machine)}${beside}`],
  };
}
