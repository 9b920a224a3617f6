import { dotted, errorAt, type Fault } from "@local-serving/base/faults/fault";
import { isRecord, objectOr } from "@local-serving/base/faults/json";
import { valueAt } from "@local-serving/base/faults/schemaFaults";
import type { SourceDocument } from "@local-serving/base/faults/yamlDocument";

/** Most entries of one list or map. With so many, comparing each with each other takes a moment. */
const MOST_ENTRIES = 1000;

/**
 * Most machines of a stack and most servers of all of them; each costs the plan some milliseconds.
 */
const MOST_MACHINES = 512;
const MOST_SERVERS = 512;

/** Most servers of one machine: with the smallest share that vLLM starts at, fewer fit. */
const MOST_SERVERS_HERE = 64;

/** Deepest nesting that is read, far below what exhausts the stack of those who walk through it. */
const DEEPEST_NESTING = 200;

/**
 * Finds what is too large to be judged in a moment. If there is such a fault, nothing else is
 * checked.
 */
export function sizeFaults(value: unknown, document?: Pick<SourceDocument, "locate">): Fault[] {
  const fault = (path: readonly PropertyKey[], message: string) =>
    errorAt(dotted(path), "too_large", message, document?.locate(path));
  const [deep] = pathsWhere(value, (_, path) => path.length > DEEPEST_NESTING);
  if (deep !== undefined)
    return [fault(deep.slice(0, 1), `This nests deeper than ${DEEPEST_NESTING} levels.`)];
  const long = pathsWhere(value, (each) => sizeOf(each) > MOST_ENTRIES);
  if (long.length > 0)
    return long.map((path) =>
      fault(
        path,
        `This has ${sizeOf(valueAt(value, path))} entries, and at most ${MOST_ENTRIES} are read.`,
      ),
    );
  const machines = objectOr(objectOr(value).machines);
  const counts = Object.entries(machines).map(([name, machine]) => {
    return { name, servers: sizeOf(objectOr(machine).inferenceServers) };
  });
  const crowded = counts.filter(({ servers }) => servers > MOST_SERVERS_HERE);
  const all = counts.reduce((sum, { servers }) => sum + servers, 0);
  const totals = [
    { what: "machines", has: counts.length, most: MOST_MACHINES },
    { what: "inference servers", has: all, most: MOST_SERVERS },
  ].filter(({ has, most }) => has > most);
  return [
    ...totals.map(({ what, has, most }) =>
      fault(
        ["machines"],
        `A stack has at most ${most} ${what}, and this has ${has}: make several stacks.`,
      ),
    ),
    ...crowded.map(({ name, servers }) =>
      fault(
        ["machines", name, "inferenceServers"],
        `A machine has at most ${MOST_SERVERS_HERE} inference servers, and this has ${servers}.`,
      ),
    ),
  ];
}

const sizeOf = (value: unknown): number =>
  Array.isArray(value) ? value.length : isRecord(value) ? Object.keys(value).length : 0;

/** Returns the paths of the values that match. It doesn't look inside a matching value. */
function pathsWhere(
  value: unknown,
  isMeant: (value: unknown, path: readonly PropertyKey[]) => boolean,
  path: readonly PropertyKey[] = [],
): (readonly PropertyKey[])[] {
  if (typeof value !== "object" || value === null) return [];
  if (isMeant(value, path)) return [path];
  return Object.entries(value).flatMap(([key, inner]) =>
    pathsWhere(inner, isMeant, [...path, key]),
  );
}
