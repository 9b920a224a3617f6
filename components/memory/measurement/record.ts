import { hundredths } from "@local-serving/base/units/memory";
import type { EngineLog } from "@local-serving/kv";
import type { MeasuredSettings } from "../../settings";

/** What is known of a server that was started. */
export interface StartedServer {
  /** Share that it was started with. */
  readonly gpuMemoryUtilization: number;
  /** The machine's memory. If several share the model, it is the smallest. */
  readonly totalGiB: number;
  readonly maxNumSeqs: number;
  /** GPUs that share its model. */
  readonly gpus: number;
  /** As it was started, with its digest. */
  readonly image: string;
  /** What else decides how much it took. */
  readonly ran?: Pick<MeasuredSettings, "maxNumBatchedTokens" | "draftTokens" | "loadFormat">;
  /** Largest share that the ledger leaves it beside everything else; 0 where none fits. */
  readonly largestUtilization: number;
}

/** What to record of a start; `undefined` where its log lacks one of the figures. */
export function measurementOf(
  log: EngineLog,
  server: StartedServer,
  at: string,
): MeasuredSettings | undefined {
  const { availableKvGiB, kvTokens, maxConcurrency, takenGiB } = log;
  if (availableKvGiB === undefined || kvTokens === undefined || maxConcurrency === undefined)
    return undefined;
  const chargedGiB = outsideKvGiB(server, availableKvGiB);
  const shared = server.gpus === 1 ? {} : { ranks: server.gpus };
  return {
    chargedGiB,
    ...(takenGiB === undefined ? {} : { takenGiB, maxNumSeqs: server.maxNumSeqs, ...server.ran }),
    kvTokens,
    maxConcurrency,
    ...shared,
    at,
    image: server.image.split("@").at(-1) ?? server.image,
  };
}

/**
 * Memory in GiB that a started server took outside its KV cache: its share minus what its log says
 * was left.
 */
export const outsideKvGiB = (server: StartedServer, availableKvGiB: number): number =>
  hundredths(server.gpuMemoryUtilization * server.totalGiB - availableKvGiB);

/** The lines that record a measurement in the stack file, below its server. */
export const measuredLines = (measured: MeasuredSettings): string[] => [
  "measured:",
  ...Object.entries(measured).map(([key, value]) =>
    key === "at" ? `  at: "${value}"` : `  ${key}: ${value}`,
  ),
];
