import type { MachinePlan } from "../plan";
import { answers, serversOn } from "../planned";
import { changesOf } from "./changesOf";
import { shortStepsText, stepsText } from "./downtime";
import { doubtText } from "./start";

const DOWNLOAD = "plus the download of a model, unless `serving fetch` has done it";

/** What becomes ready once containers of a plan were made, and when. */
export interface FirstStarts {
  /** Whether a server is among them, which `serving status --wait` waits for. */
  readonly hasServer: boolean;
  /** When each answers, in a sentence. */
  readonly when: string;
}

/**
 * When the first starts of a plan are over; `undefined` where none of them has to become ready. What
 * starts on request is not started by an update.
 */
export function firstStarts(
  machines: readonly MachinePlan[],
  isMade: (resource: string) => boolean = () => true,
): FirstStarts | undefined {
  const named = startedFirst(machines, isMade);
  if (named.length === 0) return undefined;
  const times = named.map(
    ({ name, steps, doubt }) => `${name} ${doubt ?? `answers after ${stepsText(steps)}`}`,
  );
  const fetch = named.some(({ downloads }) => downloads.length > 0) ? [DOWNLOAD] : [];
  return {
    hasServer: named.some(({ isServer }) => isServer),
    when: [...times, ...fetch].join("; "),
  };
}

/** The same of one machine in a few words: `b answers in 14 to 24 min, later in 4 to 9 min`. */
export const startsInShort = (machines: readonly MachinePlan[]): string[] =>
  startedFirst(machines, () => true).flatMap(({ key, steps, doubt }) =>
    doubt === undefined ? [`${key} answers in ${shortStepsText(steps)}`] : [],
  );

/** What an update starts, the servers alone where there are any. */
function startedFirst(machines: readonly MachinePlan[], isMade: (resource: string) => boolean) {
  // The one that answers answers for all containers of its server.
  const workers = machines.flatMap((machine) =>
    serversOn(machine).flatMap((server) => (answers(server) ? [] : server.container.resource)),
  );
  const starting = changesOf([], machines).flatMap(({ machine, containers, starts }) =>
    containers
      .filter(
        ({ resource, startsOnRequest }) =>
          isMade(resource) && !startsOnRequest && !workers.includes(resource),
      )
      .map((each) => ({
        ...each,
        isServer: each.key in starts,
        doubt: doubtText(starts[each.key]?.after),
        name: machines.length > 1 ? `${machine}.${each.key}` : each.key,
      })),
  );
  const servers = starting.filter(({ isServer }) => isServer);
  return servers.length > 0 ? servers : starting;
}
