import type { PlannedContainer } from "../../components/planned";
import type { Host } from "../sees/host";
import {
  llamaSwapOf,
  type OnDemandSeen,
  type SwapMachine,
  seeOnDemand,
} from "../sees/onDemand/onDemand";
import {
  clockTime,
  idleMinutesLeft,
  swapsOfLastHour,
  waitingFor,
} from "../sees/onDemand/swapFigures";
import type { Tunnel } from "../sees/tunnel";
import { ON_DEMAND } from "../stack/named";
import type { ItemStatus } from "./itemStatus";

/** How long the last start of a container took, in seconds, where that is known. */
export type LastStart = (container: PlannedContainer) => number | undefined;

/** llama-swap and what it starts, at one moment. */
export interface OnDemandStatus {
  /** Why nothing is known of it; `null` where it answers. */
  readonly problem: string | null;
  /** Keys of the servers that it starts or has. */
  readonly running: readonly string[];
  /** Servers that requests wait for. */
  readonly waiting: readonly {
    readonly key: string;
    readonly requests: number;
    readonly since: string;
    readonly says: string;
  }[];
  /** Containers that run, and that it doesn't know. */
  readonly orphans: readonly string[];
  readonly swapsInLastHour: number;
  readonly swapsPerHour: number;
}

/** Looks at the servers of a machine that llama-swap starts. */
export const lookOnDemand = async (
  machine: SwapMachine,
  host: Host,
  tunnel: Tunnel,
): Promise<OnDemandSeen> => seeOnDemand(machine, host, await llamaSwapOf(machine, tunnel, host));

/** What is said of llama-swap as a whole. */
export function onDemandStatus(machine: SwapMachine, seen: OnDemandSeen): OnDemandStatus {
  return {
    problem: seen.problem?.message ?? null,
    running: [...seen.states.keys()],
    waiting: waitingFor(machine, seen).map(({ key, requests, since, text }) => ({
      key,
      requests,
      since,
      says: text,
    })),
    orphans: seen.orphans,
    swapsInLastHour: swapsOfLastHour(seen.events),
    swapsPerHour: machine.onDemand.swapsPerHour,
  };
}

/** llama-swap's own row. */
export const swapItem = ({ problem }: OnDemandSeen): ItemStatus =>
  problem === undefined
    ? { key: ON_DEMAND, state: "ready", well: true }
    : { key: ON_DEMAND, state: "does not answer", well: false, note: problem.message };

/** A server that llama-swap starts and whose container doesn't run, though that ended well. */
export function stoppedItem(
  machine: SwapMachine,
  seen: OnDemandSeen,
  { key, container }: { readonly key: string; readonly container: PlannedContainer },
  lastStart: LastStart,
): Pick<ItemStatus, "state" | "well" | "note"> {
  const failed = seen.failed.get(key);
  if (failed !== undefined)
    return {
      state: "failed",
      well: false,
      note: `${failed.sentence}. Not tried again before ${clockTime(failed.until)}: \`serving start ${key} --again\` tries at once`,
    };
  const waits = waitingFor(machine, seen).find((each) => each.key === key);
  if (waits !== undefined) return { state: "waiting", well: true, note: waits.text };
  const { model } = machine.onDemand.servers.find((each) => each.key === key) ?? {};
  const seconds = lastStart(container);
  const about =
    seconds === undefined ? "" : ` (about ${Math.max(1, Math.round(seconds / 60))} min)`;
  return { state: "stopped", well: true, note: `the next request for ${model} starts it${about}` };
}

/** A server that llama-swap starts and whose container runs, by how any server is seen. */
export function runningItem(
  machine: SwapMachine,
  seen: OnDemandSeen,
  item: ItemStatus,
): ItemStatus {
  const { key } = item;
  const gate = item.state === "start gate" ? { ...item, state: "waiting at the gate" } : item;
  const { name = "" } = seen.containers.get(key) ?? {};
  if (seen.orphans.includes(name))
    return {
      ...gate,
      well: false,
      note: `runs, but llama-swap doesn't know it: \`serving stop ${key}\` stops it, \`serving start ${key}\` tells llama-swap`,
    };
  if (seen.problem !== undefined || item.state !== "ready") return gate;
  if (!seen.states.has(key))
    return {
      ...gate,
      note: "llama-swap has let it go: it stops in a moment, unless a request comes",
    };
  const left = idleMinutesLeft(machine, seen, key);
  const again = gate.note === undefined ? "" : `${gate.note}; `;
  return left === undefined
    ? gate
    : { ...gate, note: `${again}stops in ${left} min without a request` };
}
