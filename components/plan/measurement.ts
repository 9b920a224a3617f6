import type { MeasuredSettings } from "../settings/measured";
import type { EngineLog, EngineRefusal } from "./kv";
import { gibRange, timesRange } from "./kvFacts";
import { hundredths } from "./ledger/ledger";
import { downToHundredth } from "./ledger/utilization";
import type { ServerKv } from "./types";

const BYTES_PER_GIB = 1024 ** 3;

/** With a recorded measurement the plan is to be this close to the next start. */
const CLOSE = 0.02;

/** The log rounds GiB to two places and concurrency to two: together less than this many blocks. */
const ROUNDED_BLOCKS = 1;

/** What is known of a server that was started. */
export interface StartedServer {
  readonly gpuMemoryUtilization: number;
  readonly totalGiB: number;
  readonly maxNumSeqs: number;
  /** As it stands in the stack file, with its digest. */
  readonly image: string;
}

/** What to record of a start; `undefined` where its log lacks one of the figures. */
export function measurementOf(
  log: EngineLog,
  server: StartedServer,
  at: string,
): MeasuredSettings | undefined {
  const { availableKvGiB, kvTokens, maxConcurrency } = log;
  if (availableKvGiB === undefined || kvTokens === undefined || maxConcurrency === undefined)
    return undefined;
  const nonKvGiB = outsideKv(server, availableKvGiB);
  return { nonKvGiB, kvTokens, maxConcurrency, at, image: server.image.split("@").at(-1) ?? server.image };
}

/** The lines that record a measurement in the stack file, below its server. */
export function measuredLines(measured: MeasuredSettings): string[] {
  return [
    "measured:",
    `  nonKvGiB: ${measured.nonKvGiB}`,
    `  kvTokens: ${measured.kvTokens}`,
    `  maxConcurrency: ${measured.maxConcurrency}`,
    `  at: "${measured.at}"`,
    `  image: ${measured.image}`,
  ];
}

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
      Math.abs(maxConcurrency * kv.blocksPerRequest - blocks) <= ROUNDED_BLOCKS + 0.005 * kv.blocksPerRequest,
  };
}

/** A setting worth trying next, with its reason. */
export interface NextSetting {
  readonly setting: "gpuMemoryUtilization" | "maxModelLen" | "maxNumSeqs" | "kvCacheMemoryBytes";
  readonly value: number;
  readonly why: string;
}

/** What to try after a start, or after a refusal. */
export function nextSettings(kv: ServerKv, log: EngineLog, server: StartedServer): NextSetting[] {
  if (log.refusal !== undefined) return afterRefusal(log.refusal, kv, log, server);
  if (log.availableKvGiB === undefined) return [];
  const outside = outsideKv(server, log.availableKvGiB);
  const wanted = outside + (server.maxNumSeqs * kv.bytesPerRequest + kv.bytesPerBlock) / BYTES_PER_GIB;
  const share = upToHundredth(wanted / server.totalGiB);
  const next: NextSetting[] = [];
  if (share > server.gpuMemoryUtilization && share <= 1) {
    next.push({
      setting: "gpuMemoryUtilization",
      value: share,
      why: `holds ${server.maxNumSeqs} whole windows at once (where the other servers leave so much)`,
    });
  }
  const bytes = log.kvCacheMemoryBytes ?? Math.floor(log.availableKvGiB * BYTES_PER_GIB);
  if (bytes > 0) {
    next.push({
      setting: "kvCacheMemoryBytes",
      value: bytes,
      why: `keeps this size of the KV cache; it belongs to gpuMemoryUtilization ${upToHundredth((outside + bytes / BYTES_PER_GIB) / server.totalGiB)}, which vLLM still checks at its start`,
    });
  }
  return next;
}

function afterRefusal(
  refusal: EngineRefusal,
  kv: ServerKv,
  log: EngineLog,
  server: StartedServer,
): NextSetting[] {
  const share = (value: number, why: string): NextSetting => ({
    setting: "gpuMemoryUtilization",
    value,
    why,
  });
  switch (refusal.kind) {
    case "admission":
      return [
        share(
          downToHundredth(refusal.freeGiB / refusal.totalGiB),
          `${refusal.freeGiB} GiB were available when it started`,
        ),
      ];
    case "too-many-sequences":
      return [
        { setting: "maxNumSeqs", value: refusal.blocks, why: "blocks of the pool, one for each sequence" },
      ];
    case "profiling-disturbed":
      return [];
    case "no-kv-room":
    case "request-does-not-fit": {
      const available = refusal.kind === "request-does-not-fit" ? refusal.availableGiB : log.availableKvGiB;
      const outside = available === undefined ? kv.room.outsideGiB.high : outsideKv(server, available);
      const needed = outside + (kv.bytesPerRequest + kv.bytesPerBlock) / BYTES_PER_GIB;
      const raised = upToHundredth(needed / server.totalGiB);
      const window = refusal.kind === "request-does-not-fit" ? refusal.largestMaxModelLen : undefined;
      return [
        ...(raised <= 1 ? [share(raised, "holds one whole window")] : []),
        ...(window === undefined
          ? []
          : [
              {
                setting: "maxModelLen" as const,
                value: window,
                why: "the engine's own estimate for this room",
              },
            ]),
      ];
    }
  }
}

/** A probe's verdict on a server's memory, as `serving verify` prints it. */
export interface MemoryVerdict {
  readonly status: "pass" | "fail" | "skip";
  readonly detail: string;
  readonly fix: string;
}

/** Judges a start by its log: predicted against measured, and what to record or to try. */
export function memoryVerdict(
  kv: ServerKv | null,
  log: EngineLog,
  server: StartedServer,
  at: string,
): MemoryVerdict {
  const advice = kv === null ? [] : nextSettings(kv, log, server);
  const tries = advice.map(({ setting, value, why }) => `${setting}: ${value} (${why})`).join("; ");
  if (log.refusal !== undefined) {
    return { status: "fail", detail: `The engine did not start: ${refusalText(log.refusal)}.`, fix: tries };
  }
  const measured = measurementOf(log, server, at);
  if (measured === undefined) {
    const detail =
      "The log has no lines on the KV cache: the server has not started yet, or its log was cut.";
    return { status: "skip", detail, fix: "Look again once it is ready." };
  }
  const record = measuredLines(measured).join("\n");
  const seen = `${log.availableKvGiB} GiB of KV cache, ${measured.maxConcurrency} whole windows at once`;
  if (kv === null)
    return { status: "pass", detail: `Measured ${seen}; there is no plan to compare with.`, fix: record };
  const compared = compareWithLog(kv, log);
  const planned = `planned ${gibRange(kv.room)}, ${timesRange(kv.maxConcurrency, kv.atBest.maxConcurrency)}`;
  const exact = kv.room.basis === "measured" || kv.room.basis === "setting";
  if (compared !== undefined && !compared.layoutAgrees) {
    const detail = `Measured ${seen}; ${planned}. Blocks and requests are not as planned: is vLLM's version recorded right?`;
    return { status: "fail", detail, fix: record };
  }
  const off = compared === undefined ? 0 : compared.off;
  const detail = `Measured ${seen}; ${planned}${off === 0 ? "" : ` (${(100 * off).toFixed(1)}% off)`}.`;
  return {
    status: exact && off > CLOSE ? "fail" : "pass",
    detail,
    fix: exact && off <= CLOSE ? tries : [record, tries].filter(Boolean).join("\n"),
  };
}

function refusalText(refusal: EngineRefusal): string {
  switch (refusal.kind) {
    case "admission":
      return `${refusal.wantedGiB} GiB were wanted (${refusal.utilization}) and ${refusal.freeGiB} of ${refusal.totalGiB} GiB available`;
    case "no-kv-room":
      return "no memory was left for the KV cache";
    case "request-does-not-fit":
      return `one request of ${refusal.maxModelLen} tokens needs ${refusal.neededGiB} GiB of KV cache and ${refusal.availableGiB} GiB are there`;
    case "too-many-sequences":
      return `max_num_seqs ${refusal.maxNumSeqs} is more than the ${refusal.blocks} blocks of the pool`;
    case "profiling-disturbed":
      return "another process gave back memory while it measured; start it again when nothing else loads";
  }
}

function outsideKv(server: StartedServer, availableKvGiB: number): number {
  return hundredths(server.gpuMemoryUtilization * server.totalGiB - availableKvGiB);
}

/** Rounds a share up to 0.01: so much is needed. */
function upToHundredth(share: number): number {
  return Math.ceil(share * 100 - 1e-6) / 100;
}
