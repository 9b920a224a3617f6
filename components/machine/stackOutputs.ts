import { hundredths, leftGiB } from "../memory/ledger";
import type { ServerKv } from "../memory/serverKv";
import { type MachinePlan, type Plan, serversOn } from "../plan/types";
import { AGGREGATE_LIMIT, BYTES_PER_GIB, downToHundredth } from "../planned/utilization";

/**
 * Outputs of the stack, as data: where things are, how each client is started, how the memory adds up (GiB) and what each
 * KV cache holds. Servers go by their keys in the stack file. Nothing secret is among them.
 */
export function stackOutputs(plan: Plan) {
  const ofEach = <T>(table: (machine: MachinePlan) => T) =>
    Object.fromEntries(plan.machines.map((machine) => [machine.name, table(machine)]));
  return {
    endpoints: ofEach(({ endpoints }) => Object.fromEntries(endpoints.map(({ key, url }) => [key, url]))),
    clients: ofEach(({ clients }) => Object.fromEntries(clients.map((each) => [each.client, each.command]))),
    memory: ofEach(memoryFigures),
    kvCache: ofEach((machine) =>
      Object.fromEntries(
        serversOn(machine).map(({ key, container }) => [key, kvFigures(machine.kv[container.name] ?? null)] as const),
      ),
    ),
  };
}

export function memoryFigures({ ledger }: MachinePlan) {
  const { totalGiB, sumGiB, aggregateUtilization, largestUtilization } = ledger;
  return {
    totalGiB,
    sumGiB,
    /** Below zero the plan does not fit. */
    leftGiB: leftGiB(ledger),
    aggregateUtilization,
    aggregateLimit: AGGREGATE_LIMIT,
    lines: Object.fromEntries(ledger.lines.map(({ name, ...line }) => [name, line])),
    largestUtilization,
  };
}

/** `null` where nothing is known of the model; the lower figures are those of the least room. */
export function kvFigures(kv: ServerKv | null) {
  if (kv === null) return null;
  const { room, fits, atBest, maxConcurrency, maxModelLen, largestMaxModelLen, blockSize, agents, agentReuse } = kv;
  const { low, high } = room.outsideGiB;
  return {
    room: { basis: room.basis, source: room.source, lowGiB: room.lowGiB, highGiB: room.highGiB },
    outside: { lowGiB: low, highGiB: high },
    maxModelLen,
    largestMaxModelLen,
    fits: { least: fits, most: atBest.fits },
    fullWindows: { least: hundredths(maxConcurrency), most: hundredths(atBest.maxConcurrency) },
    requests: kv.requests.map(({ tokens, bytes }) => ({ tokens, gib: hundredths(bytes / BYTES_PER_GIB) })),
    agents: agents.map(({ promptTokens, maxTokens, atOnce, admitted }) => ({
      promptTokens,
      maxTokens,
      atOnce,
      admitted,
    })),
    blockTokens: blockSize,
    prefixReuse: agentReuse && { usual: downToHundredth(agentReuse.usual), least: downToHundredth(agentReuse.least) },
  };
}
