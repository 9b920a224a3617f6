import type { EngineLog, EngineRefusal } from "../../kv";
import { gibRange, timesRange } from "../kvFacts";
import type { ServerKv } from "../serverKv";
import { compareWithLog } from "./comparison";
import { type NextSetting, nextSettings } from "./nextSettings";
import { measuredLines, measurementOf, type StartedServer } from "./record";

/** With a recorded measurement the plan must be this close to the next start. */
const CLOSE = 0.02;

/** What a start's log says of a server's memory, judged. */
export interface MemoryVerdict {
  readonly status: "pass" | "fail" | "skip";
  /** What was seen, against what was planned. */
  readonly detail: string;
  /** Lines to record in the stack file, below the server; none where nothing new was measured. */
  readonly record: readonly string[];
  /** Settings worth trying next. */
  readonly next: readonly NextSetting[];
}

/** The plan to hold a start against, or why there is none. */
export type Planned = ServerKv | { readonly none: string };

/** Judges a start by its log: predicted against measured, and what to record or to try. */
export function memoryVerdict(
  planned: Planned,
  log: EngineLog,
  server: StartedServer,
  at: string,
): MemoryVerdict {
  const kv = "none" in planned ? undefined : planned;
  const next = kv === undefined ? [] : nextSettings(kv, log, server);
  if (log.refusal !== undefined) {
    return { status: "fail", detail: `it did not start: ${refusalText(log.refusal)}`, record: [], next };
  }
  const measured = measurementOf(log, server, at);
  if (measured === undefined) return { ...withoutFigures(log), record: [], next: [] };
  const seen = `measured ${gib(log.availableKvGiB)} GiB of KV cache, ${measured.maxConcurrency.toFixed(2)} whole windows at once`;
  const record = measuredLines(measured);
  if ("none" in planned) return { status: "pass", detail: `${seen}; ${planned.none}`, record, next };
  const compared = compareWithLog(planned, log);
  const { room } = planned;
  const predicted = `planned ${gibRange(room)} (${room.basis}), ${timesRange(planned.maxConcurrency, planned.atBest.maxConcurrency)}`;
  if (compared !== undefined && !compared.layoutAgrees) {
    const why = "blocks and requests are not as planned: is vLLM's version recorded right?";
    return { status: "fail", detail: `${seen}; ${predicted}; ${why}`, record, next: [] };
  }
  const off = compared === undefined ? 0 : compared.off;
  const exact = room.basis === "measured";
  return {
    status: exact && off > CLOSE ? "fail" : "pass",
    detail: `${seen}; ${predicted}${off === 0 ? "" : `, ${(100 * off).toFixed(1)} % off`}`,
    record: exact && off <= CLOSE ? [] : record,
    next,
  };
}

/** A fixed size of the cache skips the measurement, and logs are rotated away. */
function withoutFigures({ kvTokens, maxConcurrency }: EngineLog): Pick<MemoryVerdict, "status" | "detail"> {
  if (kvTokens === undefined || maxConcurrency === undefined)
    return {
      status: "skip",
      detail: "its log says nothing of the KV cache: it has not started yet, or the log was cut",
    };
  return {
    status: "pass",
    detail: `${maxConcurrency.toFixed(2)} whole windows at once; its log does not say what was left for the KV cache (a fixed size, or the log was cut), so there is nothing to record`,
  };
}

function refusalText(refusal: EngineRefusal): string {
  switch (refusal.kind) {
    case "admission":
      return `${gib(refusal.wantedGiB)} GiB were wanted (utilization ${refusal.utilization}) and ${gib(refusal.freeGiB)} of ${gib(refusal.totalGiB)} GiB available`;
    case "no-kv-room":
      return "no memory was left for the KV cache";
    case "request-does-not-fit":
      return `one request of ${refusal.maxModelLen} tokens needs ${gib(refusal.neededGiB)} GiB of KV cache and ${gib(refusal.availableGiB)} GiB are there`;
    case "too-many-sequences":
      return `max_num_seqs ${refusal.maxNumSeqs} is more than the ${refusal.blocks} blocks of the pool`;
    case "profiling-disturbed":
      return "another process gave back memory while it measured; start it again when nothing else loads";
  }
}

function gib(amount: number | undefined): string {
  return amount === undefined ? "?" : amount.toFixed(2);
}
