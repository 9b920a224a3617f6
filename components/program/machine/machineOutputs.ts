import { BYTES_PER_GIB, hundredths } from "@local-serving/base/units/memory";
import { AGGREGATE_LIMIT, downToHundredth } from "@local-serving/vllm/utilization";
import { leftGiB, type ServerKv, startVerdictOf } from "../../memory";
import type { MachinePlan, Plan } from "../../plan";
import type { LedgerLine } from "../../planned";

/** A table by machine, then by key. */
type ByMachine<Value> = Readonly<Record<string, Readonly<Record<string, Value>>>>;

/** What is known of machines once they are declared, as data. */
export interface MachineOutputs {
  /** URLs by the keys of servers and services. */
  readonly endpoints: ByMachine<string>;
  /** Launchers by client. */
  readonly clients: ByMachine<string>;
  readonly memory: Readonly<Record<string, MemoryFigures>>;
}

/**
 * What is known of machines, as data: where things are, how each client is started and how the
 * memory adds up (GiB). Servers go by their keys in the stack file. Nothing secret is among them.
 */
export function machineOutputs(plan: Plan): MachineOutputs {
  const ofEach = <T>(table: (machine: MachinePlan) => T) =>
    Object.fromEntries(plan.machines.map((machine) => [machine.name, table(machine)]));
  return {
    endpoints: ofEach(({ endpoints }) =>
      Object.fromEntries(endpoints.map(({ key, url }) => [key, url])),
    ),
    clients: ofEach(({ clients }) =>
      Object.fromEntries(clients.map((each) => [each.client, each.command])),
    ),
    memory: ofEach(memoryFigures),
  };
}

/** What of the memory is left, in GiB, by machine; below zero the plan does not fit. */
export type LeftGiB = Readonly<Record<string, Pick<MemoryFigures, "leftGiB">>>;

/** What of the memory is left, by machine: `serving plan --format json` has the rest. */
export const leftGiBOf = (memory: MachineOutputs["memory"]): LeftGiB =>
  Object.fromEntries(
    Object.entries(memory).map(([machine, figures]) => [machine, { leftGiB: figures.leftGiB }]),
  );

/** The memory of a machine as components and reviews have it. */
export interface MemoryFigures {
  readonly totalGiB: number;
  readonly sumGiB: number;
  /** Below zero the plan does not fit. */
  readonly leftGiB: number;
  readonly aggregateUtilization: number;
  readonly aggregateLimit: number;
  /** By what takes the memory. */
  readonly lines: Readonly<Record<string, Omit<LedgerLine, "name">>>;
  readonly largestUtilization: MachinePlan["ledger"]["largestUtilization"];
}

export function memoryFigures({ ledger }: MachinePlan): MemoryFigures {
  const { totalGiB, sumGiB, aggregateUtilization, largestUtilization } = ledger;
  return {
    totalGiB,
    sumGiB,
    leftGiB: leftGiB(ledger),
    aggregateUtilization,
    aggregateLimit: AGGREGATE_LIMIT,
    lines: Object.fromEntries(ledger.lines.map(({ name, ...line }) => [name, line])),
    largestUtilization,
  };
}

/**
 * A server's KV cache as reviews have it; the lower figures are those of the least room.
 */
export interface KvFigures {
  readonly room: Pick<ServerKv["room"], "basis" | "source" | "lowGiB" | "highGiB">;
  readonly outside: { readonly lowGiB: number; readonly highGiB: number };
  readonly maxModelLen: number;
  readonly largestMaxModelLen: number | null;
  readonly fits: { readonly least: boolean; readonly most: boolean };
  readonly fullWindows: { readonly least: number; readonly most: number };
  readonly requests: readonly { readonly tokens: number; readonly gib: number }[];
  readonly agents: readonly Pick<
    ServerKv["agents"][number],
    "promptTokens" | "maxTokens" | "atOnce" | "admitted"
  >[];
  readonly blockTokens: number;
  readonly prefixReuse: { readonly usual: number; readonly least: number } | null;
}

/** `null` where nothing is known of the model. */
export function kvFigures(kv: ServerKv | null): KvFigures | null {
  if (kv === null) return null;
  const {
    room,
    atBest,
    maxConcurrency,
    maxModelLen,
    largestMaxModelLen,
    blockSize,
    agents,
    agentReuse,
  } = kv;
  const { low, high } = room.outsideGiB;
  const verdict = startVerdictOf(kv);
  return {
    room: { basis: room.basis, source: room.source, lowGiB: room.lowGiB, highGiB: room.highGiB },
    outside: { lowGiB: low, highGiB: high },
    maxModelLen,
    largestMaxModelLen,
    fits: { least: verdict === "starts", most: verdict !== "cannot start" },
    fullWindows: { least: hundredths(maxConcurrency), most: hundredths(atBest.maxConcurrency) },
    requests: kv.requests.map(({ tokens, bytes }) => ({
      tokens,
      gib: hundredths(bytes / BYTES_PER_GIB),
    })),
    agents: agents.map(({ promptTokens, maxTokens, atOnce, admitted }) => ({
      promptTokens,
      maxTokens,
      atOnce,
      admitted,
    })),
    blockTokens: blockSize,
    prefixReuse: agentReuse && {
      usual: downToHundredth(agentReuse.usual),
      least: downToHundredth(agentReuse.least),
    },
  };
}
