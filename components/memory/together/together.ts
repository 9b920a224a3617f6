import type { DataOf } from "@local-serving/base/data/dataOf";
import { listOf } from "@local-serving/base/faults/quoting";
import { AGGREGATE_LIMIT, tenThousandths } from "@local-serving/vllm/utilization";
import type { Warning } from "../../planned";
import type { togetherSchema } from "../../planned/schema";

/** Names of servers that may run at once. So may some of a set. */
type Sets = readonly (readonly string[])[];

/** Finds the sets that have all of these servers. */
export const setsWith = (sets: Sets, ...names: readonly string[]): Sets =>
  sets.filter((set) => names.every((name) => set.includes(name)));

/** Whether these servers may run at once. */
export const mayRun = (sets: Sets, ...names: readonly string[]): boolean =>
  setsWith(sets, ...names).length > 0;

/** Returns each set, and each of these servers by itself that is in none. */
export const alternatives = (sets: Sets, names: readonly string[]): Sets => [
  ...sets,
  ...names.filter((name) => !mayRun(sets, name)).map((name) => [name]),
];

/**
 * Returns what to stop so that a server may run beside the rest: one choice for each of its sets,
 * without those that stop more than another. It never runs where there is none; it has room where
 * one is empty.
 */
export function stopsFor(sets: Sets, name: string, running: readonly string[]): Sets {
  const choices = setsWith(sets, name).map((set) => running.filter((each) => !set.includes(each)));
  return choices.filter((choice) =>
    choices.every((other) => other.length >= choice.length || !mayRun([choice], ...other)),
  );
}

/** Returns the largest set, the first of several; empty where there is none. */
export const largestSet = <Each>(
  sets: readonly (readonly Each[])[],
  size: (set: readonly Each[]) => number,
): readonly Each[] =>
  sets.reduce((most, set) => (size(set) > size(most) ? set : most), sets[0] ?? []);

/**
 * Returns every set that is allowed and to which nothing can be added. Each part of an allowed set
 * must be allowed. A set comes before another one that lacks the first member in which both differ.
 */
function largestSets<Each>(
  all: readonly Each[],
  isAllowed: (set: readonly Each[]) => boolean,
): (readonly Each[])[] {
  const allowedFrom = (set: readonly Each[], rest: readonly Each[]): (readonly Each[])[] => [
    set,
    ...rest.flatMap((one, index) => {
      const larger = [...set, one];
      return isAllowed(larger) ? allowedFrom(larger, rest.slice(index + 1)) : [];
    }),
  ];
  const isFull = (set: readonly Each[]) =>
    all.every((one) => set.includes(one) || !isAllowed([...set, one]));
  return allowedFrom([], all).filter((set) => set.length > 0 && isFull(set));
}

/** Servers that start on request, with which of them run together. */
export type Together = DataOf<typeof togetherSchema>;

/** What decides which servers run together. */
type TogetherFigures = Omit<Together, "sets">;

/** A server that starts on request, as it counts in a sum. */
type OnRequest = Together["servers"][number];

/** Finds which servers run together. */
export function together(figures: TogetherFigures): Together {
  const sets = largestSets(figures.servers, (set) => fitTogether(figures, set));
  return { ...figures, sets: sets.map((set) => set.map(({ key }) => key)) };
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

/** The set that takes most of the memory; empty where none fits. */
export const largestOf = ({ sets, servers }: Together): readonly string[] =>
  largestSet(sets, (set) =>
    sum(servers.filter(({ key }) => set.includes(key)).map(({ takenGiB }) => whole(takenGiB))),
  );

/** What is good to know of the servers that start on request. */
export function togetherNotes(machine: string, found: Together | undefined): Warning[] {
  const { servers = [], sets = [] } = found ?? {};
  const keys = servers.map(({ key }) => key);
  if (!mayRun(sets, ...keys)) return [];
  const names = listOf(keys);
  const message =
    servers.length === 1
      ? `${names} alone starts on request, so nothing has to stop for it. \`start: onRequest\` frees its memory while it is stopped.`
      : `${names} all fit at the same time, so none has to stop for another. \`start: onRequest\` frees their memory while they are stopped.`;
  return [{ machine, code: "together-all", message }];
}
