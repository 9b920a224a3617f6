import { isDeepStrictEqual } from "node:util";
import { defined } from "@local-serving/base/faults/defined";
import { listOf } from "@local-serving/base/faults/quoting";
import { type ContainerState, memoryAsked } from "@local-serving/machines/docker/containers";
import { takenBy } from "../../components/memory";
import { stopsFor } from "../../components/memory/together";
import { type MachinePlan, wordFor } from "../../components/plan";
import { LABEL, serversOn } from "../../components/planned";
import { typedOn } from "../stack/typed";

/** Docker's words for a container that holds its memory. */
const HOLDS_MEMORY = ["running", "paused", "restarting"];

/** A container, as far as it decides what may start. */
type SeenContainer = Pick<
  ContainerState,
  "name" | "status" | "labels" | "memory" | "gpuMemoryUtilization"
>;

/**
 * Says why a server that starts on request can't start beside what runs, and what to stop first; ""
 * if it can. The sets of the plan decide, so whatever they don't count with is a reason, too.
 */
export function noRoom(machine: MachinePlan, key: string, seen: readonly SeenContainer[]): string {
  const runs = seen.filter(({ status }) => HOLDS_MEMORY.includes(status));
  const own = machine.inferenceServers.find((each) => each.key === key)?.container.name;
  const counting = seen.filter((each) => each.name === own || runs.includes(each));
  return [
    ...strangers(machine, runs),
    ...otherShares(machine, counting, own),
    ...outsideTheSets(machine, key, runs),
  ].join(" ");
}

/** Servers of ours that run on this machine and that the stack file doesn't have. */
const strangers = (machine: MachinePlan, runs: readonly SeenContainer[]): string[] =>
  runs
    .filter(
      ({ name, labels, gpuMemoryUtilization }) =>
        labels[LABEL.machine] === machine.name &&
        (labels[LABEL.server] !== undefined || gpuMemoryUtilization !== undefined) &&
        machine.containers.every((each) => each.name !== name),
    )
    .map(
      ({ name }) =>
        `${name} runs on this machine but isn't in the stack file. First run \`${typedOn(machine, ["docker", "stop", name])}\`.`,
    );

/** Servers whose containers ask for another share of the memory than the sets count with. */
function otherShares(
  machine: MachinePlan,
  counting: readonly SeenContainer[],
  own: string | undefined,
): string[] {
  return serversOn(machine).flatMap(({ container: { name, entrypoint, command } }) => {
    const found = counting.find((each) => each.name === name);
    if (found === undefined) return [];
    const [is, planned] = [askedBy(found), memoryAsked([...(entrypoint ?? []), ...command])];
    if (isDeepStrictEqual(is, planned)) return [];
    const word = wordFor(machine, name);
    const stop = name === own ? "" : `\`serving stop ${word}\` stops it, and `;
    const shares = `${takenText(machine, is)}, not ${takenText(machine, planned)}`;
    return `${word} has another share of the memory than planned (${shares}): ${stop}\`serving status --against applied\` says what fixes it.`;
  });
}

type Asked = ReturnType<typeof memoryAsked>;

const askedBy = ({ gpuMemoryUtilization, memory }: SeenContainer): Asked =>
  defined({ gpuMemoryUtilization, memory });

const takenText = ({ ledger }: MachinePlan, { memory }: Asked): string =>
  memory === undefined ? "unknown" : `${takenBy(memory, ledger.totalGiB).toFixed(2)} GiB`;

/** What runs that no set has beside the server, and what to stop: one of several choices. */
function outsideTheSets(
  { together }: MachinePlan,
  wanted: string,
  runs: readonly SeenContainer[],
): string[] {
  if (together === undefined) return [];
  const { servers, sets } = together;
  const gib = (key: string) =>
    `${servers.find((each) => each.key === key)?.takenGiB.toFixed(2)} GiB`;
  const running = servers
    .filter(({ key, container }) => key !== wanted && runs.some(({ name }) => name === container))
    .map(({ key }) => key);
  const stops = stopsFor(sets, wanted, running);
  const takes = `${wanted} takes ${gib(wanted)} and doesn't fit beside`;
  if (stops.length === 0)
    return [`${takes} what always runs: \`serving plan\` says what would fit.`];
  if (stops.some((keys) => keys.length === 0)) return [];
  const choices = stops.map((keys) => keys.map((key) => `serving stop ${key}`).join(" && "));
  const beside = listOf(running.map((key) => `${key} (${gib(key)})`));
  return [
    `${takes} ${beside}. First run ${[...new Set(choices)].map((each) => `\`${each}\``).join(" or ")}.`,
  ];
}
