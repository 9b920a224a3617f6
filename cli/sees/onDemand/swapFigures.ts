import { listOf } from "@local-serving/base/faults/quoting";
import { mayRun } from "../../../components/memory/together";
import type { OnDemandSeen, SwapMachine } from "./onDemand";
import type { SwapEvent } from "./swapFiles";

const [MINUTE, HOUR] = [60_000, 3_600_000];

/** A server that requests wait for. */
export interface Waiting {
  readonly key: string;
  readonly requests: number;
  /** When the first of them came. */
  readonly since: string;
  /** Keys of the servers that it has no room beside, and that answer meanwhile. */
  readonly busy: readonly string[];
  /** The same in a sentence, without a full stop. */
  readonly text: string;
}

/** `14:02`, by this computer's clock. */
export const clockTime = (time: string): string => new Date(time).toTimeString().slice(0, 5);

/** What happened within the last hour. */
const ofLastHour = (events: readonly SwapEvent[], now = Date.now()): SwapEvent[] =>
  events.filter(({ at }) => Date.parse(at) > now - HOUR);

/** Starts by request within the last hour. */
export const swapsOfLastHour = (events: readonly SwapEvent[], now = Date.now()): number =>
  ofLastHour(events, now).filter(({ event }) => event === "start").length;

/** Which servers have requests that wait, and for whom. */
export function waitingFor(machine: SwapMachine, seen: OnDemandSeen): Waiting[] {
  const { requests, states } = seen;
  const asked = [...new Set(requests.map(({ key }) => key))];
  return asked
    .filter((key) => !["ready", "starting"].includes(states.get(key) ?? ""))
    .map((key) => {
      const own = requests.filter((each) => each.key === key);
      const since = own[0]?.since ?? "";
      const busy = busyFor(machine, seen, key);
      return { key, requests: own.length, since, busy, text: waitText(key, since, { busy, seen }) };
    });
}

/** The servers that keep another one from starting: those with requests, and those that start. */
function busyFor(
  { together }: Pick<SwapMachine, "together">,
  { requests, states }: OnDemandSeen,
  key: string,
): string[] {
  return [...states].flatMap(([other, state]) => {
    const inTheWay = other !== key && !mayRun(together?.sets ?? [], key, other);
    const answers = state === "ready" && requests.some((each) => each.key === other);
    // A start is never broken off, not even for one that it has room beside.
    return state === "starting" || (inTheWay && answers) ? other : [];
  });
}

function waitText(
  key: string,
  since: string,
  {
    busy,
    seen: { requests, states },
  }: { readonly busy: readonly string[]; readonly seen: OnDemandSeen },
): string {
  const why = busy.map((other) => {
    if (states.get(other) === "starting") return `${other} starts`;
    const first = requests.find((each) => each.key === other)?.since ?? since;
    return `${other} has been answering since ${clockTime(first)}`;
  });
  return `${key} waits${why.length === 0 ? ` since ${clockTime(since)}` : `: ${listOf(why)}`}`;
}

/** Minutes until a server that is ready is stopped, if nobody asks it; `undefined` where it isn't. */
export function idleMinutesLeft(
  { onDemand }: SwapMachine,
  { requests, states, events, lastAnswers }: OnDemandSeen,
  key: string,
  now = Date.now(),
): number | undefined {
  const idle = onDemand.servers.find((each) => each.key === key)?.idleMinutes ?? undefined;
  if (idle === undefined || states.get(key) !== "ready") return undefined;
  if (requests.some((each) => each.key === key)) return undefined;
  const ready = events.findLast((each) => each.server === key && each.event === "ready")?.at;
  const used = Math.max(0, ...[ready, lastAnswers.get(key)].map((at) => Date.parse(at ?? "") || 0));
  return used === 0 ? undefined : Math.max(0, Math.ceil(idle - (now - used) / MINUTE));
}

/** Servers that were started in turn within an hour, and what their starts took. */
export interface Thrash {
  readonly keys: readonly string[];
  readonly swaps: number;
  readonly minutes: number;
}

/** Starts within an hour of servers that stop each other, from which on clients only wait. */
const MOST_SWAPS = 4;

/** Finds servers that are started in turn: each start stopped another that had been started. */
export function thrashIn(events: readonly SwapEvent[], now = Date.now()): Thrash | undefined {
  const recent = ofLastHour(events, now);
  const swaps = recent.filter(({ event, stops = [] }) => event === "start" && stops.length > 0);
  const keys = [...new Set(swaps.flatMap(({ server, stops = [] }) => [server, ...stops]))];
  const inTurn = keys.filter((key) => swaps.some(({ server }) => server === key));
  if (swaps.length < MOST_SWAPS || inTurn.length < 2) return undefined;
  const seconds = recent
    .filter(({ event, server }) => event === "ready" && inTurn.includes(server))
    .reduce((sum, each) => sum + (each.seconds ?? 0), 0);
  return { keys: inTurn.sort(), swaps: swaps.length, minutes: Math.round(seconds / 60) };
}
