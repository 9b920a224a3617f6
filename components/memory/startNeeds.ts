import { defined } from "../../faults/defined";
import { BYTES_PER_GIB } from "../../units/memory";
import { readServerArguments } from "../../vllm/argv/serverArguments";
import {
  AGGREGATE_LIMIT,
  downToHundredth,
  LIMIT_ABOVE_CAUTION,
  upToHundredth,
} from "../../vllm/utilization";
import { ownWindow } from "../kv";
import type { DataOf } from "../planned/schema/dataOf";
import type { startNeedsSchema } from "../planned/schema/memory";
import { certainWeights } from "./certainWeights";
import { measuredHere } from "./kvRoom";
import { fitsMachine, type MemoryLedger } from "./ledger";
import type { KnownServer } from "./machineMemory";
import {
  NOT_FOLLOWED,
  type ServerKv,
  type ServerKvResult,
  sureOutsideGiB,
  usualOutsideGiB,
} from "./serverKv";

/**
 * The least that a server needs to start in the best case. It leaves out what isn't known for
 * certain.
 */
export type StartNeeds = DataOf<typeof startNeedsSchema>;

/** vLLM then takes a window longer than the model's own. */
const LONG_WINDOW = "VLLM_ALLOW_LONG_MAX_MODEL_LEN";
const ROPE_OPTIONS = ["hf-overrides", "rope-scaling", "rope-theta", "rope-parameters"];

/** What the cache needs beyond one request, in GiB: more than one block of any model. */
const BESIDE_WINDOW_GIB = 0.1;

/**
 * The share of a machine with which a server holds so many requests of its whole window, if it takes
 * no more beside its weights than servers usually do at the least.
 */
export const shareForRequests = (kv: ServerKv, requests: number, totalGiB: number): number => {
  const windowsGiB = (requests * kv.bytesPerRequest) / BYTES_PER_GIB;
  return upToHundredth((usualOutsideGiB(kv) + windowsGiB + BESIDE_WINDOW_GIB) / totalGiB);
};

/** The least share with which a server starts by all that was seen of its model. */
export const leastToStart = (
  { leastUtilization = 0 }: StartNeeds,
  kv: ServerKv | null | undefined,
  totalGiB: number,
): number => Math.max(leastUtilization, kv ? shareForRequests(kv, 1, totalGiB) : 0);

/** The share with which a server holds one request even in the worst known case. */
export const sureShare = (kv: ServerKv, totalGiB: number): number =>
  upToHundredth(
    (sureOutsideGiB(kv) + (kv.bytesPerRequest + kv.bytesPerBlock) / BYTES_PER_GIB) / totalGiB,
  );

/**
 * A server's needs, and, where it would not start or its machine's plan doesn't fit, what to advise:
 * a share with which it starts by all that was seen of its model, and not by its weights alone.
 */
export function neededAndAdvised(
  server: KnownServer,
  result: ServerKvResult,
  ledger: MemoryLedger,
): StartNeeds {
  const { totalGiB } = ledger;
  const needs = startNeeds(server, totalGiB, result);
  const { kv, withRoom } = result;
  // A cache of fixed size counts by its bytes, not by the share.
  if (kv === null || server.settings.kvCacheMemoryBytes !== undefined) return needs;
  if (fitsMachine(ledger) && kv.atBest.fits) return needs;
  const { leastUtilization: least, longestWindow: longest } = needs;
  const [sure, seen] = [sureShare(kv, totalGiB), withRoom?.(kv.room.highGiB).largestMaxModelLen];
  return {
    ...needs,
    ...defined({
      leastUtilization: least && leastToStart(needs, kv, totalGiB),
      sureUtilization: sure > AGGREGATE_LIMIT ? undefined : sure,
      longestWindow: longest && Math.min(longest, seen ?? longest),
      unwarnedUtilization: unwarnedShare(server, kv, ledger),
    }),
  };
}

/** See `unwarnedUtilization` of the plan. */
function unwarnedShare(
  { plan: { container } }: KnownServer,
  kv: ServerKv,
  ledger: MemoryLedger,
): number | undefined {
  const fits = ledger.largestUtilization[container.name];
  if (fitsMachine(ledger) || fits === undefined) return undefined;
  const { bySum, byAggregate, keepingFloor = bySum } = fits;
  const calm = downToHundredth(byAggregate - LIMIT_ABOVE_CAUTION);
  const share = Math.min(bySum, keepingFloor, calm);
  return share >= sureShare(kv, ledger.totalGiB) ? share : undefined;
}

/** What is known of a server's needs at its start; `kv` is its KV plan. */
function startNeeds(
  { settings, model, plan: { container, memory } }: KnownServer,
  totalGiB: number,
  { kv, withRoom }: ServerKvResult,
): StartNeeds {
  const args = readServerArguments(container.command);
  const has = (names: readonly string[]) => names.some((name) => args.options.has(name));
  const resident = certainWeights(settings, model);
  const weightsGiB = resident && Math.max(0, resident - (memory.hostGiB ?? 0));
  const { kvCacheMemoryBytes } = settings;
  const outsideGiB = measuredHere(settings)?.charged ?? weightsGiB;
  const drafts = settings.speculative?.method ?? "mtp";
  const followed = !has(NOT_FOLLOWED.map((flag) => flag.slice(2))) && drafts.includes("mtp");
  const windowGiB = kv !== null && followed ? kv.bytesPerRequest / BYTES_PER_GIB : undefined;
  const room =
    kvCacheMemoryBytes === undefined
      ? outsideGiB && settings.gpuMemoryUtilization * totalGiB - outsideGiB
      : kvCacheMemoryBytes / BYTES_PER_GIB;
  const longestWindow = room && followed ? withRoom?.(room).largestMaxModelLen : undefined;
  const least = windowGiB === undefined ? 0 : windowGiB + BESIDE_WINDOW_GIB;
  const lifted = /^(1|true)$/i.test(container.env[LONG_WINDOW] ?? "") || has(ROPE_OPTIONS);
  return defined({
    weightsGiB,
    outsideGiB,
    windowGiB,
    longestWindow: longestWindow ?? undefined,
    modelWindow: lifted ? undefined : ownWindow(model?.config),
    leastUtilization:
      outsideGiB === undefined || kvCacheMemoryBytes !== undefined
        ? undefined
        : upToHundredth((outsideGiB + least) / totalGiB),
    leastCacheBytes: least > 0 ? Math.ceil(least * BYTES_PER_GIB) : undefined,
  });
}
