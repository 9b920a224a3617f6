import type { EngineLog } from "../../kv";
import { BYTES_PER_GIB } from "../../planned/serverMemory";
import type { ServerKv } from "../serverKv";

/** The log rounds GiB to two places and concurrency to two: together less than this many blocks. */
const ROUNDED_BLOCKS = 1;

/** Half of the last place of the log's concurrency. */
const CONCURRENCY_ROUNDING = 0.005;

/** Predicted against measured. */
export interface MemoryComparison {
  /** Room for the KV cache in GiB. */
  readonly room: { readonly lowGiB: number; readonly highGiB: number; readonly measuredGiB: number };
  /** Requests of the whole window at once. */
  readonly concurrency: { readonly low: number; readonly high: number; readonly measured: number };
  /** Share by which the measured room lies outside what was predicted; 0 inside. */
  readonly off: number;
  /** Whether blocks and requests are as planned: the room that was measured holds as many as the engine says. */
  readonly layoutAgrees: boolean;
}

/** Compares a plan with a start's log; `undefined` where the log lacks the figures. */
export function compareWithLog(kv: ServerKv, log: EngineLog): MemoryComparison | undefined {
  const { availableKvGiB, maxConcurrency } = log;
  if (availableKvGiB === undefined || maxConcurrency === undefined) return undefined;
  const { lowGiB, highGiB } = kv.room;
  const distance = Math.max(0, lowGiB - availableKvGiB, availableKvGiB - highGiB);
  const blocks = Math.floor((availableKvGiB * BYTES_PER_GIB) / kv.bytesPerBlock);
  return {
    room: { lowGiB, highGiB, measuredGiB: availableKvGiB },
    concurrency: { low: kv.maxConcurrency, high: kv.atBest.maxConcurrency, measured: maxConcurrency },
    off: availableKvGiB === 0 ? (distance === 0 ? 0 : 1) : distance / Math.abs(availableKvGiB),
    layoutAgrees:
      Math.abs(maxConcurrency * kv.blocksPerRequest - blocks) <=
      ROUNDED_BLOCKS + CONCURRENCY_ROUNDING * kv.blocksPerRequest,
  };
}
