import { BYTES_PER_GIB, hundredths } from "@local-serving/base/units/memory";
import { gibRange, timesRange } from "@local-serving/base/units/ranges";
import type { EngineLog, EngineRefusal } from "@local-serving/kv";
import { gpusOf } from "../../planned";
import type { MeasuredSettings } from "../../settings";
import type { ServerKv } from "../serverKv";
import { type NextSetting, nextSettings } from "./nextSettings";
import { measuredLines, measurementOf, type StartedServer } from "./record";

/** The plan must be this close to the next start if a measurement is recorded. */
const CLOSE = 0.02;

/** What a start's log says of a server's memory, judged. */
export interface MemoryVerdict {
  readonly status: "pass" | "fail" | "skip";
  /** What was seen, against what was planned. */
  readonly detail: string;
  /** Lines to record in the stack file, below the server; none where nothing new was measured. */
  readonly record: readonly string[];
  /** The same as the value of its key; absent where nothing new was measured. */
  readonly measured?: MeasuredSettings;
  /** Settings worth trying next. */
  readonly next: readonly NextSetting[];
}

/** The plan to hold a start against, or why there is none. */
export type Planned = ServerKv | { readonly none: string };

/** Judges a start by its log: predicted against measured, and what to record or to try. */
export function judgeStart(
  planned: Planned,
  given: EngineLog,
  server: StartedServer,
  at: string,
): MemoryVerdict {
  const kv = "none" in planned ? undefined : planned;
  const log = kv === undefined || gpusOf(kv) === 1 ? given : ofTheLeast(given, kv);
  const next = kv === undefined ? [] : nextSettings(kv, log, server);
  if (log.refusal !== undefined)
    return {
      status: "fail",
      detail: `it did not start: ${refusalText(log.refusal)}`,
      record: [],
      next,
    };
  const measured = measurementOf(log, server, at);
  if (measured === undefined) return { ...withoutFigures(log), record: [], next: [] };
  const seen = `measured ${gib(log.availableKvGiB)} GiB of KV cache, ${measured.maxConcurrency.toFixed(2)} whole windows at once`;
  const record = measuredLines(measured);
  if ("none" in planned)
    return { status: "pass", detail: `${seen}; ${planned.none}`, record, measured, next };
  const compared = compareWithLog(planned, log);
  const { room } = planned;
  const predicted = `planned ${gibRange(room)} (${room.basis}), ${timesRange(planned.maxConcurrency, planned.atBest.maxConcurrency)}`;
  if (compared !== undefined && !compared.layoutAgrees) {
    const why = "blocks and requests differ from the plan: check the recorded vLLM version";
    return { status: "fail", detail: `${seen}; ${predicted}; ${why}`, record, next: [] };
  }
  const off = compared === undefined ? 0 : compared.off;
  const exact = room.basis === "measured";
  const detail = `${seen}; ${predicted}${off === 0 ? "" : `, ${(100 * off).toFixed(1)} % off`}`;
  const isRecorded =
    exact && off <= CLOSE && (log.takenGiB === undefined || room.takenGiB !== undefined);
  return {
    status: exact && off > CLOSE ? "fail" : "pass",
    detail,
    ...(isRecorded ? { record: [] } : { record, measured }),
    next,
  };
}

/**
 * Corrects what one GPU's log says was left for the KV cache if another GPU had less: all of them get
 * as many blocks as that one.
 */
function ofTheLeast(log: EngineLog, { bytesPerRequest }: ServerKv): EngineLog {
  const { availableKvGiB: own, maxConcurrency } = log;
  if (own === undefined || maxConcurrency === undefined) return log;
  return {
    ...log,
    availableKvGiB: Math.min(own, hundredths((maxConcurrency * bytesPerRequest) / BYTES_PER_GIB)),
  };
}

/** A fixed size of the cache skips the measurement, and logs are rotated away. */
function withoutFigures({
  kvTokens,
  maxConcurrency,
}: EngineLog): Pick<MemoryVerdict, "status" | "detail"> {
  if (kvTokens === undefined || maxConcurrency === undefined)
    return {
      status: "skip",
      detail: "its log says nothing of the KV cache: it has not started yet, or the log was cut",
    };
  const detail = `${maxConcurrency.toFixed(2)} whole windows at once; its log does not say how much memory was left for the KV cache (its size is fixed, or the log was cut), so there is nothing to record`;
  return { status: "pass", detail };
}

function refusalText(refusal: EngineRefusal): string {
  switch (refusal.kind) {
    case "admission":
      return `it needed ${gib(refusal.wantedGiB)} GiB (utilization ${refusal.utilization}), but only ${gib(refusal.freeGiB)} of ${gib(refusal.totalGiB)} GiB was available`;
    case "no-kv-room":
      return "no memory was left for the KV cache";
    case "request-does-not-fit":
      return `one request of ${refusal.maxModelLen} tokens needs ${gib(refusal.neededGiB)} GiB of KV cache, but only ${gib(refusal.availableGiB)} GiB is available`;
    case "too-many-sequences":
      return `max_num_seqs ${refusal.maxNumSeqs} is more than the ${refusal.blocks} blocks of the pool`;
    case "profiling-disturbed":
      return "another process freed memory while it measured; start it again when nothing else is loading";
  }
}

const gib = (amount: number | undefined): string =>
  amount === undefined ? "?" : amount.toFixed(2);

/** The log rounds GiB to two places and concurrency to two: together less than this many blocks. */
const ROUNDED_BLOCKS = 1;

/** Half of the last place of the log's concurrency. */
const CONCURRENCY_ROUNDING = 0.005;

/** Compares a plan with a start's log; `undefined` where the log lacks the figures. */
export function compareWithLog(kv: ServerKv, log: EngineLog) {
  const { availableKvGiB, maxConcurrency } = log;
  if (availableKvGiB === undefined || maxConcurrency === undefined) return undefined;
  const { lowGiB, highGiB } = kv.room;
  const distance = Math.max(0, lowGiB - availableKvGiB, availableKvGiB - highGiB);
  const blocks = Math.floor((availableKvGiB * BYTES_PER_GIB) / kv.bytesPerBlock);
  return {
    /** Room for the KV cache in GiB. */
    room: { lowGiB, highGiB, measuredGiB: availableKvGiB },
    /** Requests of the whole window at once. */
    concurrency: {
      low: kv.maxConcurrency,
      high: kv.atBest.maxConcurrency,
      measured: maxConcurrency,
    },
    /** Share by which the measured room lies outside what was predicted; 0 inside. */
    off: availableKvGiB === 0 ? (distance === 0 ? 0 : 1) : distance / Math.abs(availableKvGiB),
    /**
     * Whether blocks and requests are as planned: the room that was measured holds as many as the
     * engine says.
     */
    layoutAgrees:
      Math.abs(maxConcurrency * kv.blocksPerRequest - blocks) <=
      ROUNDED_BLOCKS + CONCURRENCY_ROUNDING * kv.blocksPerRequest,
  };
}
