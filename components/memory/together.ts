import { listOf } from "../../faults/quoting";
import { hundredths } from "../../units/memory";
import { AGGREGATE_LIMIT, tenThousandths } from "../../vllm/utilization";
import type { Warning } from "../planned/facts";
import type { DataOf } from "../planned/schema/dataOf";
import type { togetherSchema } from "../planned/schema/memory";
import { largestSets } from "./largestSets";

/** Servers that start on request, with which of them run together. */
export type Together = DataOf<typeof togetherSchema>;

/** What decides which servers run together. */
type TogetherFigures = Omit<Together, "sets">;

/** A server that starts on request, as it counts in a sum. */
type OnRequest = Together["servers"][number];

/** Finds which servers run together. */
export function together(figures: TogetherFigures): Together {
  const { servers } = figures;
  const membersOf = (set: number) => servers.filter((_, index) => (set & (2 ** index)) !== 0);
  const sets = largestSets(servers.length, (set) => fitTogether(figures, membersOf(set)));
  return { ...figures, sets: sets.map((set) => membersOf(set).map(({ key }) => key)) };
}

/**
 * Whether some servers fit beside what always runs. One alone is judged as a server that always
 * runs: by what is declared and measured. Several must fit with every guessed line, and leave the
 * floor free.
 */
export const fitTogether = (figures: TogetherFigures, members: readonly OnRequest[]): boolean =>
  shareLeft(figures, members) >= 0 && leftBeside(figures, members) >= 0;

const whole = (gib: number): number => Math.round(gib * 100);
const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);

/** The share that the limit leaves beside some servers. */
function shareLeft({ beside }: TogetherFigures, members: readonly OnRequest[]): number {
  const taken = [beside, ...members].map(({ utilization }) => tenThousandths(utilization));
  return (tenThousandths(AGGREGATE_LIMIT) - sum(taken)) / 10_000;
}

/** GiB that are left beside some servers; below zero they don't fit. */
export function leftBeside(
  { totalGiB, floorGiB, beside }: TogetherFigures,
  members: readonly OnRequest[],
): number {
  const all = [beside, ...members];
  if (members.length < 2)
    return (whole(totalGiB) - sum(all.map(({ certainGiB }) => whole(certainGiB)))) / 100;
  const compiling = Math.max(...members.map(({ compilingGiB }) => whole(compilingGiB)));
  const taken = sum(all.map(({ takenGiB }) => whole(takenGiB)));
  return (whole(totalGiB) - whole(floorGiB) - compiling - taken) / 100;
}

/** The set that takes most of the memory, the first of several; empty where none fits. */
export function largestOf({ sets, servers }: Together): readonly string[] {
  const taken = (set: readonly string[]) =>
    hundredths(sum(servers.filter(({ key }) => set.includes(key)).map(({ takenGiB }) => takenGiB)));
  return sets.reduce<readonly string[]>((most, set) => (taken(set) > taken(most) ? set : most), []);
}

/** What is good to know of the servers that start on request. */
export function togetherNotes(machine: string, found: Together | undefined): Warning[] {
  const { servers = [], sets: [first = []] = [] } = found ?? {};
  if (servers.length === 0 || first.length < servers.length) return [];
  const names = listOf(servers.map(({ key }) => key));
  const message =
    servers.length === 1
      ? `${names} is the only server that starts on request, so nothing has to stop for it. \`start: onRequest\` frees its memory while it is stopped.`
      : `${names} all fit at the same time, so none has to stop for another. \`start: onRequest\` frees their memory while they are stopped.`;
  return [{ machine, code: "together-all", message }];
}
